/** One kernel's tasks: a bar, the counts, the rate. Draws states and computes nothing. Needs no framework. */
import type { KernelState } from '../model';
import type { Translator } from './translator';
/** What to draw: a kernel's state under the name of its notebook. */
export interface DashboardInput {
    readonly title: string;
    readonly state: KernelState;
}
/** The root element carries the numbers as data attributes, for tests and style sheets. */
export declare class DashboardView {
    constructor(parent: HTMLElement, trans: Translator);
    /** Draw a state; null when no notebook is open. */
    draw(input: DashboardInput | null): void;
    dispose(): void;
    private _drawMessage;
    private _setData;
    private _drawSnapshot;
    private _drawRuns;
    /** Say when a piece of work begins and ends; a screen reader would drown in anything more. */
    private _speak;
    private readonly _trans;
    private readonly _root;
    private readonly _title;
    private readonly _message;
    private readonly _body;
    private readonly _bar;
    private readonly _fill;
    private readonly _fillFailed;
    private readonly _progress;
    private readonly _rate;
    private readonly _sparkline;
    private readonly _failed;
    private readonly _running;
    private readonly _queued;
    private readonly _workers;
    private readonly _runs;
    private readonly _spoken;
}
