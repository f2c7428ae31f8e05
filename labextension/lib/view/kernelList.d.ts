/** The open notebooks and consoles in whose kernels Cellmill is loaded; choosing one brings it to the front. */
import type { Presence } from '../model';
import type { Counts } from '../protocol';
import type { Translator } from './translator';
/** One line of the list. */
export interface KernelLine {
    readonly id: string;
    readonly title: string;
    readonly current: boolean;
    readonly presence: Presence;
    readonly counts: Counts | null;
}
/** Buttons, so that they are reached and pressed with the keyboard. */
export declare class KernelListView {
    constructor(parent: HTMLElement, trans: Translator, choose: (id: string) => void);
    /** Draw the lines of kernels that have Cellmill. */
    draw(lines: readonly KernelLine[]): void;
    dispose(): void;
    private _item;
    private _update;
    private readonly _trans;
    private readonly _choose;
    private readonly _root;
    private readonly _list;
    private _ids;
}
