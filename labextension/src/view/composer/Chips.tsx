/** What is sent along with the words: each can be taken away. */

import * as React from 'react';

import { describeContext, keyOf } from '../../chat/suggestions';
import { ChatContext } from '../../wire/protocol';
import { kindIcon } from './Completion';
import { useEnv } from '../common/env';
import { Icon } from '../common/Icon';

/** Where the reader is in the notebook, as it would be sent. */
export interface Around {
  readonly label: string;
  readonly detail: string;
}

interface Props {
  readonly around: Around | undefined;
  readonly aroundOn: boolean;
  readonly onAround: (on: boolean) => void;
  readonly contexts: readonly ChatContext[];
  readonly onRemove: (context: ChatContext) => void;
}

export function Chips({ around, aroundOn, onAround, contexts, onRemove }: Props): React.ReactElement | null {
  const { trans } = useEnv();
  if (around === undefined && contexts.length === 0) {
    return null;
  }
  return (
    <ul className="eca-Chips" aria-label={trans.__('Sent along')}>
      {around !== undefined && (
        <li>
          <button
            type="button"
            className="eca-Chip"
            aria-pressed={aroundOn}
            title={
              aroundOn
                ? trans.__('%1 is sent along. Click to keep it back.', around.detail)
                : trans.__('Not sent. Click to send %1 along.', around.detail)
            }
            onClick={() => {
              onAround(!aroundOn);
            }}
          >
            <Icon name="cell" />
            <span>{around.label}</span>
          </button>
        </li>
      )}
      {contexts.map(context => {
        const { label, detail } = describeContext(context);
        return (
          <li key={keyOf(context)} className="eca-Chip" title={detail}>
            {context.type === 'image' && 'base64' in context ? (
              <img alt="" src={`data:${context.mediaType};base64,${context.base64}`} />
            ) : (
              <Icon name={kindIcon(context.type)} />
            )}
            <span>{context.type === 'image' ? trans.__('Image') : label}</span>
            <button
              type="button"
              aria-label={trans.__('Remove %1', label)}
              onClick={() => {
                onRemove(context);
              }}
            >
              <Icon name="close" />
            </button>
          </li>
        );
      })}
    </ul>
  );
}
