/**
 * Shows the text of a message of the user. A mention is a word such as `@data.csv`, which stands for a context of the
 * message. It is drawn as a chip. The chip of a file, a cell or the output of a cell is a button that goes there.
 *
 * This module knows no server. The prompt box draws its chips itself, see `view/composer/PromptBox.tsx`.
 */

import * as React from 'react';

import { cutText, findMentions, nameMention, readField } from '../../mentions/mentions';
import { toPlainText } from '../../render/format';
import { ChatContext } from '../../wire/protocol';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';

interface Props {
  readonly text: string;
  /** The contexts that the text mentions. */
  readonly contexts: readonly ChatContext[] | undefined;
}

/** Draws the text with its chips. */
export function TextWithMentions({ text, contexts = [] }: Props): React.ReactElement {
  const plain = toPlainText(text);
  return (
    <>
      {cutText(plain, findMentions(plain, contexts)).map(({ text, context }, index) =>
        context === undefined ? (
          <React.Fragment key={index}>{text}</React.Fragment>
        ) : (
          <MentionChip key={index} word={text} context={context} />
        )
      )}
    </>
  );
}

interface ChipProps {
  /** The mention as it is written in the text, for example `@data.csv`. */
  readonly word: string;
  /** The context that the mention refers to. */
  readonly context: ChatContext;
}

/** Draws the chip of one mention. */
function MentionChip({ word, context }: ChipProps): React.ReactElement {
  const { trans, openPath, showCell } = useEnv();
  const name = nameMention(word, context);
  const path = readField(context, 'path');
  if (path === '' || (context.type !== 'file' && context.type !== 'cell' && context.type !== 'output')) {
    return (
      <span className="eca-Mention" role="img" aria-label={name} title={name}>
        {word}
      </span>
    );
  }
  return (
    <button
      type="button"
      className="eca-Mention"
      aria-label={trans.__('Show %1', name)}
      title={name}
      onClick={() => {
        if (context.type === 'file') {
          openPath(path);
        } else {
          showCell(path, readField(context, 'cell'));
        }
      }}
    >
      {word}
    </button>
  );
}
