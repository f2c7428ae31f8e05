/** The user's preferences, read from JupyterLab's settings; views apply changes at once. */

import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { Signal, type ISignal } from '@lumino/signaling';

/** The values; until the settings have been read, the defaults of the schema. */
export interface Preferences {
  /** id of the tab that a new view shows */
  readonly tab: string;
  /** where `open-dashboard` opens the dashboard */
  readonly place: 'side' | 'main';
  readonly statusBar: boolean;
  /** the most pictures drawn in a second */
  readonly pictures: number;
  /** whether the dashboard opens by itself when tasks begin */
  readonly openByItself: boolean;
  /** seconds that the tasks of a cell take at least, to notify of their end; 0: never */
  readonly notifyAfter: number;
}

const DEFAULTS: Preferences = {
  tab: 'now',
  place: 'side',
  statusBar: true,
  pictures: 10,
  openByItself: false,
  notifyAfter: 30
};

/** The preferences of this page. */
export class Settings {
  /** Read the settings now and after each change. */
  async follow(registry: ISettingRegistry, plugin: string): Promise<void> {
    const settings = await registry.load(plugin);
    const read = (): void => {
      this._values = preferences(settings.composite);
      this._changed.emit();
    };
    settings.changed.connect(read);
    read();
  }

  get values(): Preferences {
    return this._values;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  private readonly _changed = new Signal<this, void>(this);
  private _values = DEFAULTS;
}

/** Preferences from settings of any shape: an invalid value is replaced by its default. */
export function preferences(settings: Readonly<Record<string, unknown>>): Preferences {
  const { defaultTab, openIn, showInStatusBar, picturesPerSecond, openWhenTasksBegin } = settings;
  const { notifyAfter } = settings;
  const flag = (value: unknown, otherwise: boolean): boolean =>
    typeof value === 'boolean' ? value : otherwise;
  return {
    tab: typeof defaultTab === 'string' ? defaultTab : DEFAULTS.tab,
    place: openIn === 'main' ? 'main' : 'side',
    statusBar: flag(showInStatusBar, DEFAULTS.statusBar),
    pictures:
      typeof picturesPerSecond === 'number'
        ? Math.min(10, Math.max(1, picturesPerSecond))
        : DEFAULTS.pictures,
    openByItself: flag(openWhenTasksBegin, DEFAULTS.openByItself),
    notifyAfter:
      typeof notifyAfter === 'number' && notifyAfter >= 0 ? notifyAfter : DEFAULTS.notifyAfter
  };
}
