/** The dashboard's tabs, in the order in which they are shown. */

import { graphTab } from './graph';
import type { TabKind } from './tab';
import { workersTab } from './workers';

export const TABS: readonly TabKind[] = [graphTab, workersTab];
