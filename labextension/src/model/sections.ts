/** What a kernel sends beside its counters: one model for each section. */

import { readGraph, withStates, type TaskGraph } from './taskGraph';
import type {
  Comparison,
  FailureCalls,
  FailureRetried,
  Frame,
  Journey,
  Profile,
  MapPart,
  StateMap,
  TaskDetail,
  TaskList,
  TaskRerun,
  Workers
} from '../protocol/messages';
import { OutputModel } from './output';
import { RecordedTasks } from './recordedTasks';
import { TimelineModel } from './timeline';
import { UsageModel } from './usage';

/** The most parts of the map to keep. Each zoomed view needs one; answers to other pages arrive here too. */
const MOST_PARTS = 8;
/** The request number of lists that no view asked for (see sections/tasks.py). */
const UNASKED = 0;

/** The latest answers about single tasks. Views tell their own by the request numbers. */
export class TaskAnswers {
  list: TaskList | null = null;
  /** the single tasks of a recording */
  readonly recorded = new RecordedTasks();
  detail: TaskDetail | null = null;
  rerun: TaskRerun | null = null;
  /** the calls of a line of failures, and the same with their arguments as Python */
  fold: FailureCalls | null = null;
  copy: FailureCalls | null = null;
  retried: FailureRetried | null = null;
}

/** The sections of one kernel; frames change them, views read them. */
export class Sections {
  /** `all`: of the kernel, if these are of one run; they have the workers and the answers about single tasks */
  constructor(private readonly _all: Sections | null = null) {}

  /** the worker processes; null before the first request */
  get workers(): Workers | null {
    return this._all?.workers ?? this._workers;
  }

  /** the tasks with dependencies; null before the first request */
  graph: TaskGraph | null = null;
  /** how long the intervals of the tasks' journeys took; null before the first request */
  journey: Journey | null = null;
  /** what workers executed while they were sampled; null before the first request */
  profile: Profile | null = null;
  /** what tasks print */
  output = new OutputModel();
  /** the spans of the workers over time */
  timeline = new TimelineModel();
  /** what the workers used over time */
  usage = new UsageModel();

  /** the state of every task; null before the first request */
  stateMap: StateMap | null = null;

  /** the newest requested parts of the state map, by request number */
  readonly mapParts = new Map<number, MapPart>();

  /** answers about single tasks */
  get tasks(): TaskAnswers {
    return this._all?.tasks ?? this._tasks;
  }

  /** the newest comparison of two runs that was asked for; null before the first */
  get comparison(): Comparison | null {
    return this._all?.comparison ?? this._comparison;
  }

  /** Take one frame. Frames of no section change nothing. */
  push(frame: Frame): void {
    switch (frame.kind) {
      case 'workers':
        this._workers = frame;
        return;
      case 'graph':
        this.graph = readGraph(frame);
        return;
      case 'graph-states':
        this.graph = this.graph && (withStates(this.graph, frame) ?? this.graph);
        return;
      case 'journey':
        this.journey = frame;
        return;
      case 'profile':
        this.profile = frame;
        return;
      case 'output':
        this.output.push(frame);
        return;
      case 'timeline':
        this.timeline.push(frame);
        return;
      case 'usage':
        this.usage.push(frame);
        return;
      case 'worker-usage':
        this.usage.pushWorker(frame);
        return;
      case 'timeline-detail':
        this.timeline.pushDetail(frame);
        return;
      case 'state-map':
        this.stateMap = frame;
        return;
      case 'map-part':
        this.mapParts.delete(frame.request);
        this.mapParts.set(frame.request, frame);
        for (const request of this.mapParts.keys()) {
          if (this.mapParts.size > MOST_PARTS) {
            this.mapParts.delete(request);
          }
        }
        return;
      case 'task-list':
        if (frame.request === UNASKED) {
          this.tasks.recorded.pushList(frame);
        } else {
          this.tasks.list = frame;
        }
        return;
      case 'task-records':
        this.tasks.recorded.pushRecords(frame.records);
        return;
      case 'task-detail':
        this.tasks.detail = frame;
        return;
      case 'task-rerun':
        this.tasks.rerun = frame;
        return;
      case 'failure-calls':
        this.tasks[frame.python === null ? 'fold' : 'copy'] = frame;
        return;
      case 'failure-retried':
        this.tasks.retried = frame;
        return;
      case 'comparison':
        this._comparison = frame;
        return;
      default:
    }
  }

  /** Forget everything, for example because the kernel restarted. */
  reset(): void {
    this._workers = null;
    this.graph = null;
    this.journey = null;
    this.profile = null;
    this.output = new OutputModel();
    this.timeline = new TimelineModel();
    this.usage = new UsageModel();
    this.stateMap = null;
    this.mapParts.clear();
    this._tasks = new TaskAnswers();
    this._comparison = null;
  }

  private _workers: Workers | null = null;
  private _tasks = new TaskAnswers();
  private _comparison: Comparison | null = null;
}
