/** What a kernel said, folded into what a view draws. Knows neither the kernel nor the page. */
import type { Frame, Snapshot } from './protocol';
/** Whether Cellmill runs in a kernel: not known yet, not loaded, loaded without tasks, or with tasks to show. */
export type Presence = 'unknown' | 'absent' | 'loaded' | 'live';
/** Everything that a view draws of one kernel. */
export interface KernelState {
    readonly presence: Presence;
    readonly snapshot: Snapshot | null;
    /** tasks per second: of the last seconds while tasks run, of the whole piece of work once they are done */
    readonly rate: number;
    /** tasks per second in equal steps of time, oldest first, the last one ending now */
    readonly history: readonly number[];
}
/** Steps of the history, and the seconds each stands for. */
export declare const HISTORY_STEPS = 60;
export declare const HISTORY_STEP = 0.5;
/** One kernel's frames in, its state out. Times are seconds; `now` is any clock of the page that only goes forward. */
export declare class KernelModel {
    /** Take one frame; `now` is when it arrived. */
    push(frame: Frame, now: number): void;
    /** Forget everything, for example because the kernel restarted. */
    reset(presence: Presence): void;
    get presence(): Presence;
    /** Whether tasks are outstanding, so that time alone changes the picture. */
    get busy(): boolean;
    /** The state to draw at the moment `now`. */
    state(now: number): KernelState;
    private _pushSnapshot;
    private _rate;
    private _history;
    /** Tasks done at a moment, on the straight line between the frames around it. */
    private _doneAt;
    private _presence;
    private _snapshot;
    private _points;
    private _earlier;
    private _clockOffset;
}
