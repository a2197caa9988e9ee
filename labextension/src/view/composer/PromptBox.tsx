/**
 * Draws the text field of the prompt box, in which mentions look like chips (small labels).
 *
 * The field is a textarea, because the browser then does what it does in every text: undo, composition of letters, and
 * screen reading. Behind it lies a copy of the text with the same lines, in which only the chips are visible. The copy
 * is as high as the text, and so is the field. A chip is as wide as its word, because otherwise the lines of both would
 * differ.
 *
 * This module knows no server and no suggestions: those are in `Composer.tsx`. `mentions/caret.ts` decides where the
 * caret may be.
 */

import * as React from 'react';

import { findDeletion, keepOutside, TextRange } from '../../mentions/caret';
import { cutText, Mention, nameMention } from '../../mentions/mentions';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';

/** All other attributes go to the textarea. */
interface Props extends React.TextareaHTMLAttributes<HTMLTextAreaElement> {
  /** Gets the textarea. */
  readonly box: React.RefObject<HTMLTextAreaElement>;
  readonly text: string;
  /** The mentions in the text. */
  readonly mentions: readonly Mention[];
  /** Called with the text and the offset of the cursor when the user has changed the text. */
  readonly onText: (text: string, cursor: number) => void;
  /** Called with the offset of the cursor when it has moved. */
  readonly onCursor: (cursor: number) => void;
}

/** A space without width at the end of the copy. With it, an empty last line is as high as that of the field. */
const LAST_LINE = '\u200b';

/** Draws the textarea and the copy behind it. */
export function PromptBox({
  box,
  text,
  mentions,
  onText,
  onCursor,
  onKeyDown,
  ...attributes
}: Props): React.ReactElement {
  const { trans } = useEnv();
  const id = React.useId();
  const copy = React.useRef<HTMLDivElement>(null);
  /** The last selection, from which `keepOutside` knows in which direction the caret has moved. */
  const selected = React.useRef<TextRange>({ start: 0, end: 0 });
  /** When a key would delete a part of a mention, select the whole mention, so that the key deletes all of it. */
  const deleteMention = (event: React.KeyboardEvent<HTMLTextAreaElement>): void => {
    const { selectionStart, selectionEnd } = event.currentTarget;
    const { key, ctrlKey, altKey } = event;
    if ((key !== 'Backspace' && key !== 'Delete') || selectionStart !== selectionEnd || event.nativeEvent.isComposing) {
      return;
    }
    const range = findDeletion(text, mentions, selectionStart, key, ctrlKey || altKey);
    if (range !== undefined) {
      // The browser deletes what is selected, and can undo that.
      event.currentTarget.setSelectionRange(range.start, range.end);
    }
  };
  return (
    <div className="eca-Prompt">
      <div className="eca-Prompt-copy" dir="auto" ref={copy}>
        {cutText(text, mentions).map(({ text, context }, index) =>
          context === undefined ? (
            <span key={index} aria-hidden="true">
              {text}
            </span>
          ) : (
            <span key={index} className="eca-Mention" role="img" aria-label={nameMention(text, context)}>
              {text}
            </span>
          )
        )}
        <span aria-hidden="true">{LAST_LINE}</span>
      </div>
      <textarea
        {...attributes}
        ref={box}
        rows={1}
        dir="auto"
        value={text}
        role="combobox"
        aria-describedby={mentions.length > 0 ? id : undefined}
        onChange={event => {
          onText(event.target.value, event.target.selectionStart);
        }}
        onSelect={event => {
          const { selectionStart: start, selectionEnd: end, selectionDirection, value } = event.currentTarget;
          // The caret may not be inside of a mention. While the text is changing, the mentions are not known yet.
          const outside = value === text ? keepOutside(mentions, selected.current, { start, end }) : { start, end };
          if (outside.start !== start || outside.end !== end) {
            event.currentTarget.setSelectionRange(outside.start, outside.end, selectionDirection);
          }
          selected.current = outside;
          onCursor(outside.start);
        }}
        onKeyDown={event => {
          deleteMention(event);
          onKeyDown?.(event);
        }}
        onMouseMove={event => {
          // The textarea lies above the chips. So it shows the tooltip of the chip that is under the mouse.
          const elements = document.elementsFromPoint(event.clientX, event.clientY);
          const chip = elements.find(
            node => node.classList.contains('eca-Mention') && copy.current?.contains(node) === true
          );
          event.currentTarget.title = chip?.getAttribute('aria-label') ?? '';
        }}
      />
      {mentions.length > 0 && (
        <span id={id} hidden>
          {trans.__(
            'Mentions: %1',
            mentions.map(({ start, end, context }) => nameMention(text.slice(start, end), context)).join('; ')
          )}
        </span>
      )}
    </div>
  );
}

/** Replace a part of the text as if the user had typed it, so that the user can undo that. */
export function typeText(box: HTMLTextAreaElement, { start, end }: TextRange, text: string): void {
  box.focus();
  box.setSelectionRange(start, end);
  // The command is deprecated, but nothing else changes a textarea so that the browser can undo it.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  if (!document.execCommand(text === '' ? 'delete' : 'insertText', false, text)) {
    box.setRangeText(text, start, end, 'end');
    box.dispatchEvent(new Event('input', { bubbles: true }));
  }
}
