/** The side panel: draws the kernel of the notebook in front, and the list of all that Cellmill runs in. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import type { Sessions, SessionWidget } from './sessions';
/** What the panel needs from its surroundings. */
export interface PanelOptions {
    readonly sessions: Sessions;
    readonly trans: TranslationBundle;
    /** Bring a notebook or a console to the front. */
    readonly activate: (widget: SessionWidget) => void;
}
/** Draws at most ten times a second, and only while it is visible. */
export declare class CellmillPanel extends Widget {
    constructor(options: PanelOptions);
    dispose(): void;
    protected onAfterShow(_: Message): void;
    protected onAfterHide(_: Message): void;
    protected onAfterAttach(_: Message): void;
    protected onBeforeDetach(_: Message): void;
    protected onResize(_: Message): void;
    private _setWatched;
    private _schedule;
    private _draw;
    /** Whether the rate's history still moves although the tasks are done. */
    private _movedRecently;
    private readonly _sessions;
    private readonly _dashboard;
    private readonly _list;
    private _timer;
}
