/**
 * Finds the answers in a transcript: what the assistant wrote between two messages of the user, as Markdown. Pure.
 *
 * An answer consists of the texts of the model. If there are none, because the message was a command such as `/costs`,
 * the answer consists of the texts of the server.
 */

import { Block, Blocks, TextBlock, UserBlock } from '../../chat/blocks';

/**
 * Return the keys of the blocks with which answers end. While a turn is running (`busy`), its answer is not complete,
 * so it is left out.
 */
export function listAnswerEnds(blocks: Blocks, busy: boolean): ReadonlySet<string> {
  const ends = new Set<string>();
  /** The last text of the answer so far. A text of the server does not replace a text of the model. */
  let last: TextBlock | undefined;
  for (const block of blocks) {
    if (block.kind === 'user') {
      addKey(ends, last);
      last = undefined;
    } else if (isText(block) && !(last?.kind === 'text' && block.kind === 'system')) {
      last = block;
    }
  }
  if (!busy) {
    addKey(ends, last);
  }
  return ends;
}

/** Add the key of an answer's last text; nothing when there is no answer. */
function addKey(ends: Set<string>, last: TextBlock | undefined): void {
  if (last !== undefined) {
    ends.add(last.key);
  }
}

/** Return the whole answer whose last text has this key, as Markdown. */
export function collectAnswer(blocks: Blocks, key: string): string {
  const end = blocks.findIndex(block => block.key === key);
  const start = blocks.slice(0, end).findLastIndex(block => block.kind === 'user') + 1;
  const kind = blocks[end]?.kind;
  return blocks
    .slice(start, end + 1)
    .filter(isText)
    .filter(block => block.kind === kind)
    .map(({ text }) => text.trim())
    .join('\n\n');
}

/** Return the user's message before the answer whose last text has this key; undefined when it is not loaded. */
export function findMessage(blocks: Blocks, key: string): UserBlock | undefined {
  const end = blocks.findIndex(block => block.key === key);
  return blocks.slice(0, end).findLast((block): block is UserBlock => block.kind === 'user');
}

/** Whether a block is a text of the model or of the server. */
function isText(block: Block): block is TextBlock {
  return block.kind === 'text' || block.kind === 'system';
}
