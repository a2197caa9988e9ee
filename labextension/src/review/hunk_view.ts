/**
 * Draws hunks in an editor: their lines are coloured, and the other text stands beside them with its buttons.
 *
 * Knows no cell: `hunk_painter.ts` decides which hunks are drawn where.
 */

import { presentableDiff } from '@codemirror/merge';
import { EditorState, Range, StateEffect, StateField, Text } from '@codemirror/state';
import { Decoration, DecorationSet, EditorView, WidgetType } from '@codemirror/view';

import { toExactText } from '../render/format';
import { Side } from './cell_diff';
import { Hunk } from './hunks';

/** A button of a hunk. */
export interface Choice {
  readonly label: string;
  readonly act: (id: number) => void;
}

export interface Look {
  readonly side: Side;
  readonly choices: readonly Choice[];
  /** The name of the other text, for a screen reader. */
  readonly caption: string;
  /** The note at a hunk that the user has edited. */
  readonly touched: string;
}

const setDecorations = StateEffect.define<DecorationSet>();

const decorationField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, transaction) {
    const anew = transaction.effects.find(effect => effect.is(setDecorations));
    return anew === undefined ? set.map(transaction.changes) : anew.value;
  },
  provide: field => EditorView.decorations.from(field)
});

/** Draw hunks in place of those before. Must not be called while the editor is updating. */
export function drawHunks(view: EditorView, hunks: readonly Hunk[], look: Look): void {
  const fits = hunks.filter(({ to }) => to <= view.state.doc.length);
  if (view.state.field(decorationField, false) === undefined) {
    if (fits.length === 0) {
      return;
    }
    view.dispatch({ effects: StateEffect.appendConfig.of(decorationField) });
  }
  view.dispatch({
    effects: setDecorations.of(
      Decoration.set(
        fits.flatMap(hunk => decorateHunk(view.state, hunk, look)),
        true
      )
    )
  });
}

/** Texts of more characters are not compared letter by letter. */
const COMPARED = 5000;

function decorateHunk({ doc }: EditorState, hunk: Hunk, look: Look): Range<Decoration>[] {
  const ours = look.side === 'made' ? 'added' : 'removed';
  const { from, to } = hunk;
  const held = doc.sliceString(from, to);
  const found: Range<Decoration>[] = [];
  const changes = isComparable(held, hunk.other) ? presentableDiff(held, hunk.other) : [];
  if (held !== '') {
    const start = held.startsWith('\n') ? from + 1 : from;
    const last = doc.lineAt(held.endsWith('\n') && to > start ? to - 1 : to);
    for (let line = doc.lineAt(start); ; line = doc.line(line.number + 1)) {
      found.push(Decoration.line({ class: `eca-Hunk-line eca-mod-${ours}` }).range(line.from));
      if (line.number >= last.number) {
        break;
      }
    }
    for (const { fromA, toA } of changes) {
      if (toA > fromA) {
        found.push(Decoration.mark({ class: `eca-Hunk-part eca-mod-${ours}` }).range(from + fromA, from + toA));
      }
    }
  }
  const parts = changes.map(({ fromB, toB }) => [fromB, toB] as const);
  const widget = new OtherTextWidget(hunk, look, parts);
  found.push(
    Decoration.widget({ widget, block: true, side: isBelow(hunk, held, look) ? 1 : -1 }).range(
      findOffset(doc, hunk, held, look)
    )
  );
  return found;
}

function isComparable(one: string, other: string): boolean {
  return one !== '' && other !== '' && one.length + other.length < COMPARED;
}

/** Whether the other text stands below the lines: an old text stands above the new one. */
function isBelow({ other }: Hunk, held: string, { side }: Look): boolean {
  return held === '' ? other.startsWith('\n') : side === 'proposed';
}

function findOffset(doc: Text, hunk: Hunk, held: string, look: Look): number {
  if (!isBelow(hunk, held, look)) {
    return doc.lineAt(held.startsWith('\n') ? hunk.from + 1 : hunk.from).from;
  }
  return doc.lineAt(held.endsWith('\n') ? hunk.to - 1 : hunk.to).to;
}

class OtherTextWidget extends WidgetType {
  constructor(
    private readonly hunk: Hunk,
    private readonly look: Look,
    private readonly parts: readonly (readonly [number, number])[]
  ) {
    super();
  }

  override eq(that: OtherTextWidget): boolean {
    const { id, other, touched } = this.hunk;
    return (
      that.look === this.look &&
      that.hunk.id === id &&
      that.hunk.other === other &&
      that.hunk.touched === touched &&
      String(that.parts) === String(this.parts)
    );
  }

  override toDOM(): HTMLElement {
    const { side, choices, caption, touched } = this.look;
    const node = document.createElement('div');
    node.className = `eca-Hunk eca-mod-${side === 'made' ? 'removed' : 'added'}`;
    node.contentEditable = 'false';
    node.setAttribute('role', 'group');
    node.setAttribute('aria-label', caption);
    const buttons = document.createElement('div');
    buttons.className = 'eca-Hunk-buttons';
    for (const { label, act } of choices) {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'eca-Hunk-button';
      button.textContent = label;
      button.addEventListener('click', () => {
        act(this.hunk.id);
      });
      buttons.append(button);
    }
    if (this.hunk.touched) {
      const note = document.createElement('span');
      note.className = 'eca-Hunk-note';
      note.textContent = touched;
      buttons.prepend(note);
    }
    node.append(...(this.hunk.other === '' ? [] : [this.createText()]), buttons);
    return node;
  }

  override ignoreEvent(): boolean {
    return true;
  }

  private createText(): HTMLElement {
    const { other } = this.hunk;
    const pre = document.createElement('pre');
    const [start, end] = [Number(other.startsWith('\n')), other.length - Number(/[^]\n$/.test(other))];
    let at = start;
    for (const [from, to] of this.parts) {
      const [first, last] = [Math.max(from, at), Math.min(to, end)];
      if (first < last) {
        const part = document.createElement('span');
        part.className = 'eca-Hunk-part';
        part.textContent = toExactText(other.slice(first, last));
        pre.append(toExactText(other.slice(at, first)), part);
        at = last;
      }
    }
    pre.append(toExactText(other.slice(at, end)));
    return pre;
  }
}
