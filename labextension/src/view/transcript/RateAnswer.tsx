/**
 * Draws the two buttons that rate an answer. A second click on a button removes the rating.
 *
 * `chat/flags.ts` sends the ratings to the server.
 */

import * as React from 'react';

import { AnswerRating } from '../../wire/protocol';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { IconButton } from '../common/Icon';
import { useMayAsk } from '../common/rights';

interface Props {
  /** The id of the message before the answer; undefined until the server has stored the message. */
  readonly contentId: string | undefined;
  /** The rating of the answer; null or undefined if it has none. */
  readonly rating: AnswerRating | null | undefined;
}

/** Draws the buttons; nothing in pages that cannot rate, and for a user who may only read. */
export function RateAnswer({ contentId, rating }: Props): React.ReactElement | null {
  const { trans, rateAnswer } = useEnv();
  const mayAsk = useMayAsk();
  if (contentId === undefined || rateAnswer === undefined || !mayAsk) {
    return null;
  }
  /** Return the function that is called when the button for the rating `clicked` is clicked. */
  const createClickHandler = (clicked: AnswerRating) => () => {
    rateAnswer(contentId, clicked === rating ? undefined : clicked);
  };
  return (
    <>
      <IconButton
        icon="thumbUp"
        label={trans.__('Good answer')}
        tooltip={trans.__(
          'Good answer. Kept in this chat and exported with it. It is not sent to the model or to anybody.'
        )}
        pressed={rating === 'good'}
        onClick={createClickHandler('good')}
      />
      <IconButton
        icon="thumbDown"
        label={trans.__('Bad answer')}
        tooltip={trans.__(
          'Bad answer. Kept in this chat and exported with it. It is not sent to the model or to anybody.'
        )}
        pressed={rating === 'bad'}
        onClick={createClickHandler('bad')}
      />
    </>
  );
}
