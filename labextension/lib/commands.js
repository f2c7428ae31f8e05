/** The panel's commands. */
import { millIcon } from './icon';
export const OPEN_DASHBOARD = 'cellmill:open-dashboard';
/** Register the commands, and list them in the palette where there is one. */
export function addCommands(app, panel, palette, trans) {
    app.commands.addCommand(OPEN_DASHBOARD, {
        label: trans.__('Cellmill Tasks'),
        caption: trans.__('Show the tasks of the active notebook while they run'),
        icon: millIcon,
        describedBy: { args: { type: 'object', properties: {} } },
        execute: () => {
            app.shell.activateById(panel.id);
        }
    });
    palette?.addItem({ command: OPEN_DASHBOARD, category: trans.__('Cellmill') });
}
//# sourceMappingURL=commands.js.map