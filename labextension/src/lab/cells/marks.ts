/** Marks lines in a cell's editor; an edit takes the marks away. */

import { StateEffect, StateField } from '@codemirror/state';
import { Decoration, EditorView, type DecorationSet } from '@codemirror/view';

/** A line, from 0, and the text that is shown when the pointer is over it. */
export interface Mark {
  readonly index: number;
  readonly title: string;
}

const setMarks = StateEffect.define<readonly Mark[]>();

/** The decorations, and the marks that they were made from. */
interface Marked {
  readonly key: string;
  readonly decorations: DecorationSet;
}

const NONE: Marked = { key: '[]', decorations: Decoration.none };

const field = StateField.define<Marked>({
  create: () => NONE,
  update: (marked, transaction) => {
    let next = transaction.docChanged ? NONE : marked;
    for (const effect of transaction.effects) {
      if (effect.is(setMarks)) {
        const decorations = Decoration.set(
          effect.value.flatMap(({ index, title }) => {
            if (index >= transaction.state.doc.lines) {
              return [];
            }
            const { from, text } = transaction.state.doc.line(index + 1);
            const begin = from + text.length - text.trimStart().length;
            const end = from + text.trimEnd().length;
            const attributes = { title };
            const mark = Decoration.mark({ class: 'cellmill-failing', attributes });
            return begin < end ? [mark.range(begin, end)] : [];
          })
        );
        next = { key: JSON.stringify(effect.value), decorations };
      }
    }
    return next;
  },
  provide: own => EditorView.decorations.from(own, marked => marked.decorations)
});

/** Mark these lines of an editor, top to bottom, and no others. */
export function mark(view: EditorView, marks: readonly Mark[]): void {
  const known = view.state.field(field, false);
  if ((known ?? NONE).key === JSON.stringify(marks)) {
    return;
  }
  view.dispatch({
    effects: [
      ...(known === undefined ? [StateEffect.appendConfig.of(field)] : []),
      setMarks.of(marks)
    ]
  });
}
