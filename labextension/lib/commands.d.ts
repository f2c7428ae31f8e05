/** The panel's commands. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Widget } from '@lumino/widgets';
export declare const OPEN_DASHBOARD = "cellmill:open-dashboard";
/** Register the commands, and list them in the palette where there is one. */
export declare function addCommands(app: JupyterFrontEnd, panel: Widget, palette: ICommandPalette | null, trans: TranslationBundle): void;
