/**
 * Says in the card of a waiting call that an approval would do nothing, because its cells have changed or are gone, and
 * lets the user ask again. It also says that the cell which has asked was deleted.
 *
 * This module knows no notebook: `Env.proposedCells` compares the cells.
 */

import * as React from 'react';

import { ToolBlock } from '../../chat/blocks';
import { createElement } from '../common/element';
import { subscribeToNothing, useEnv } from '../common/env';
import type { DecisionActions } from './Approval';

type Props = Pick<DecisionActions, 'chatId' | 'onReject'> & {
  /** A call that waits. */
  readonly block: ToolBlock;
};

/** Draws the notes; nothing for a call that can run as it was proposed. */
export function ObstacleNote({ block, chatId, onReject }: Props): React.ReactElement {
  const { trans, proposedCells, deletedQuestions } = useEnv();
  const obstacle = useObserved(proposedCells?.subscribe, () => proposedCells?.findObstacle(block));
  const isQuestionDeleted = useObserved(deletedQuestions?.subscribe, () =>
    deletedQuestions?.current().has(String(chatId))
  );
  return (
    <>
      {isQuestionDeleted === true && (
        <p className="eca-Tool-warning">
          {trans.__('The cell that has asked was deleted. Its answer goes on here.')}
          <br />
          {trans.__('To get the cell back, undo the cell operation in the menu Edit.')}
        </p>
      )}
      {obstacle !== undefined && (
        <div className="eca-Tool-warning" role="status">
          <p>
            {obstacle === 'changed'
              ? trans.__('A cell of this call has changed since the call was proposed, so Approve would do nothing.')
              : trans.__('A cell of this call is gone, so Approve would do nothing.')}
            {obstacle === 'gone' && (
              <>
                <br />
                {trans.__('To get the cell back, undo the cell operation in the menu Edit.')}
              </>
            )}
          </p>
          <button
            type="button"
            className="eca-Button"
            title={trans.__('Reject this call, and let the assistant look at the notebook again')}
            onClick={() => {
              const reason = trans.__('The cells of this call are not as they were. Read the notebook again.');
              onReject(block.id, reason, chatId);
            }}
          >
            {trans.__('Ask again')}
          </button>
        </div>
      )}
    </>
  );
}

/** Return a value that the page observes; `subscribe` is undefined in pages where it does not change. */
function useObserved<T>(subscribe: ((subscriber: () => void) => () => void) | undefined, read: () => T): T {
  return React.useSyncExternalStore(subscribe ?? subscribeToNothing, read, read);
}
