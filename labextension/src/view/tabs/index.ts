/** The dashboard's tabs, in the order in which they are shown. */

import type { TabKind } from './tab';
import { workersTab } from './workers';

export const TABS: readonly TabKind[] = [workersTab];
