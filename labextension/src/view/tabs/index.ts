/** The dashboard's tabs, in the order in which they are shown. */

import { graphTab } from './graph';
import { journeyTab } from './journey';
import { mapTab } from './map';
import { nowTab } from './now';
import { outputTab } from './output';
import { profileTab } from './profile';
import { runsTab } from './runs';
import type { TabKind } from './tab';
import { tasksTab } from './tasks';
import { timelineTab } from './timeline';
import { workersTab } from './workers';

export const TABS: readonly TabKind[] = [
  nowTab,
  mapTab,
  timelineTab,
  journeyTab,
  profileTab,
  tasksTab,
  outputTab,
  graphTab,
  workersTab,
  runsTab
];
