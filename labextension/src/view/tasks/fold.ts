/** The calls of one line of failures: their arguments, which can be copied as Python, and buttons to make them again. */

import type { TaskAnswers } from '../../model/sections';
import {
  VERSION,
  type Command,
  type FailureCall,
  type FailureCalls
} from '../../protocol/messages';
import { copyText } from '../copy';
import { button, child, setName, setText } from '../dom';
import { count } from '../format';
import type { Translator } from '../translator';
import { debugLine, taskName } from './labels';
import { nextRequest } from './query';

/** Calls that are shown before the rest is asked for. */
const FEW = 8;

export interface FoldOptions {
  readonly trans: Translator;
  readonly send: (command: Command) => void;
  readonly open: (task: string, element: number | null) => void;
  /** run a line in a new cell; absent where there is no notebook */
  readonly runLine?: ((line: string) => void) | undefined;
}

export class FoldView {
  constructor(parent: HTMLElement, options: FoldOptions) {
    const { trans } = options;
    this._options = options;
    this._root = child(parent, 'section', 'cellmill-fold');
    this._root.setAttribute('aria-label', trans.__('Calls that failed so'));
    this._root.hidden = true;
    const head = child(this._root, 'div', 'cellmill-fold-head');
    this._count = child(head, 'span', 'cellmill-fold-count');
    this._retry = button(head, 'cellmill-button cellmill-fold-retry', () => this._again());
    this._copy = button(head, 'cellmill-button cellmill-fold-copy', () => this._ask(true));
    setText(this._copy, trans.__('Copy arguments'));
    this._copy.title = trans.__('Copy the arguments of these calls as a list in Python');
    this._note = child(this._root, 'p', 'cellmill-note cellmill-fold-note');
    this._note.setAttribute('role', 'status');
    this._text = child(this._root, 'textarea', 'cellmill-pre cellmill-fold-text');
    this._text.setAttribute('aria-label', trans.__('The arguments as Python'));
    this._text.setAttribute('readonly', '');
    this._list = child(this._root, 'ol', 'cellmill-fold-calls');
    this._more = button(this._root, 'cellmill-link cellmill-fold-more', () => {
      this._whole = !this._whole;
      this._draw();
    });
  }

  /** Show a line of failures of a run or of all tasks; null for none. */
  show(failure: number | null, run: number | null): void {
    if (failure === this._failure && run === this._run) {
      return;
    }
    this._failure = failure;
    this._run = run;
    this._fold = null;
    this._whole = false;
    this._copied = this._listed = this._retried = 0;
    this._root.hidden = true;
    this._tell('');
    this.ask();
  }

  /** Request the present state of what is shown. */
  ask(): void {
    this._ask(false);
  }

  /** Take the answers to this view's requests. */
  draw({ fold, copy, retried }: TaskAnswers): void {
    if (fold !== null && fold.request === this._listed && fold !== this._fold) {
      this._fold = fold;
      this._draw();
    }
    if (copy !== null && copy.request === this._copied) {
      this._copied = 0;
      void this._put(copy);
    }
    if (retried !== null && retried.request === this._retried) {
      const { trans } = this._options;
      this._retried = 0;
      const done = trans._n(
        '%2 call was submitted again, as a new task.',
        '%2 calls were submitted again, as new tasks.',
        retried.submitted,
        count(retried.submitted)
      );
      const refused = trans.__('%1 could not be: %2', count(retried.refused), retried.reason);
      this._tell(retried.refused > 0 ? `${done} ${refused}` : done);
      this.ask();
    }
  }

  private _ask(python: boolean): void {
    if (this._failure === null) {
      return;
    }
    const request = nextRequest();
    if (python) {
      this._copied = request;
    } else {
      this._listed = request;
    }
    this._options.send({
      cellmill: VERSION,
      kind: 'list-failure',
      request,
      failure: this._failure,
      run: this._run,
      python
    });
  }

  private _again(): void {
    if (this._failure !== null && this._fold !== null) {
      this._retry.disabled = true; // until the next list says what is left to do
      this._retried = nextRequest();
      this._options.send({
        cellmill: VERSION,
        kind: 'retry-failure',
        request: this._retried,
        failure: this._failure,
        run: this._run,
        until: this._fold.until
      });
    }
  }

  private async _put({ python, exact, count: all }: FailureCalls): Promise<void> {
    const { trans } = this._options;
    const text = python ?? '';
    const done = await copyText(text);
    const part =
      exact !== null && exact < all
        ? trans.__(
            'Comments stand for %1 of %2 calls, which have no exact source or are not kept.',
            count(all - exact),
            count(all)
          )
        : '';
    if (done) {
      this._tell(`${trans.__('Copied.')} ${part}`.trim());
    } else {
      this._tell(trans.__('This page may not copy: take the text from here.'), text);
    }
  }

  /** Say something; `text` is shown to be copied by hand. */
  private _tell(words: string, text = ''): void {
    this._note.hidden = words === '';
    setText(this._note, words);
    this._text.hidden = text === '';
    (this._text as HTMLTextAreaElement).value = text;
    if (text !== '') {
      (this._text as HTMLTextAreaElement).select();
    }
  }

  private _draw(): void {
    const fold = this._fold;
    this._root.hidden = fold === null;
    if (fold === null) {
      return;
    }
    const { trans } = this._options;
    const calls = this._whole ? fold.calls : fold.calls.slice(0, FEW);
    setText(this._count, foldText(fold, calls.length, trans));
    setText(
      this._retry,
      fold.open === 0 ? trans.__('Retry') : trans.__('Retry these %1', count(fold.open))
    );
    this._retry.title = trans.__(
      'Submit exactly these calls again: those that are kept and have not been run again'
    );
    this._retry.disabled = fold.open === 0;
    while (this._list.children.length > calls.length) {
      this._list.lastElementChild?.remove();
    }
    calls.forEach((call, index) => this._drawCall(call, index));
    const rest = fold.calls.length - FEW;
    this._more.hidden = rest <= 0;
    setText(
      this._more,
      this._whole ? trans.__('Show fewer') : trans.__('Show %1 more', count(rest))
    );
  }

  private _drawCall(call: FailureCall, index: number): void {
    const { trans } = this._options;
    const line = this._list.children[index] ?? this._add(index);
    const [name, shown, again, debug] = Array.from(line.children);
    if (
      !(name instanceof HTMLButtonElement && debug instanceof HTMLButtonElement) ||
      shown === undefined ||
      again === undefined
    ) {
      return;
    }
    const title = taskName(call.number, call.element, 1);
    setText(name, title);
    setName(name, trans.__('Show task %1', title));
    setText(shown, call.arguments === '' ? trans.__('not kept') : call.arguments);
    shown.setAttribute('title', call.arguments);
    setText(again, call.again === null ? '' : againText(call.again, trans));
    debug.hidden = !call.kept;
    setName(debug, trans.__('Run %1 again here, under the debugger', title));
  }

  private _add(index: number): Element {
    const { trans, open, runLine } = this._options;
    const line = child(this._list, 'li', 'cellmill-fold-call');
    const call = (): FailureCall | undefined => this._fold?.calls[index];
    button(line, 'cellmill-link', () => {
      const meant = call();
      if (meant !== undefined) {
        open(meant.task, meant.element);
      }
    });
    child(line, 'code', 'cellmill-fold-arguments');
    child(line, 'span', 'cellmill-fold-again');
    const debug = button(line, 'cellmill-button cellmill-fold-debug', () => {
      const meant = call();
      if (meant === undefined) {
        return;
      }
      const command = debugLine(meant.number, meant.element);
      if (runLine !== undefined) {
        runLine(command);
      } else {
        void copyText(command).then(done =>
          done ? this._tell(trans.__('Copied: %1', command)) : this._tell('', command)
        );
      }
    });
    setText(debug, trans.__('Debug'));
    return line;
  }

  private readonly _options: FoldOptions;
  private readonly _root: HTMLElement;
  private readonly _count: HTMLElement;
  private readonly _retry: HTMLButtonElement;
  private readonly _copy: HTMLButtonElement;
  private readonly _note: HTMLElement;
  private readonly _text: HTMLElement;
  private readonly _list: HTMLElement;
  private readonly _more: HTMLButtonElement;
  private _failure: number | null = null;
  private _run: number | null = null;
  private _fold: FailureCalls | null = null;
  /** whether all calls of the list are shown */
  private _whole = false;
  /** numbers of the requests that are not answered yet; of lists, the latest one's */
  private _listed = 0;
  private _copied = 0;
  private _retried = 0;
}

/** How many calls there are, and which part of them is shown. */
export function foldText(fold: FailureCalls, shown: number, trans: Translator): string {
  const { count: all, known } = fold;
  if (known < all) {
    return trans.__(
      '%1 of %2 calls; %3 are not kept any more',
      count(shown),
      count(all),
      count(all - known)
    );
  }
  return shown < all
    ? trans.__('First %1 of %2 calls', count(shown), count(all))
    : trans._n('%2 call', '%2 calls', all, count(all));
}

/** What came of the latest run of a call again. */
function againText(state: string, trans: Translator): string {
  switch (state) {
    case 'done':
      return trans.__('again: done');
    case 'failed':
      return trans.__('again: failed');
    case 'cancelled':
      return trans.__('again: cancelled');
    default:
      return trans.__('again: not over');
  }
}
