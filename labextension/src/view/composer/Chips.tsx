/**
 * Shows the contexts that are sent with a message as chips: small labels above the prompt box. The user can remove each
 * of them.
 *
 * This module knows no server: `Composer.tsx` keeps the list.
 */

import * as React from 'react';

import { createContextKey, describeContext } from '../../mentions/mentions';

import { ChatContext } from '../../wire/protocol';
import { createElement } from '../common/element';
import { getKindIcon } from './Completion';
import { useEnv } from '../common/env';
import { Icon } from '../common/Icon';

/** The place where the user works: the active cell or the selection in a notebook, or the lines in a file. */
export interface EditorPlace {
  /** The place in a few words, for the chip. */
  readonly label: string;
  /** The place with the whole path. */
  readonly detail: string;
  /** A description of what would be sent to the model about the place. It is shown to the user. */
  readonly content: string;
}

interface Props {
  /**
   * The place where the user works. Undefined when the user works in no notebook and no file, or has switched this chip
   * off in the settings.
   */
  readonly place: EditorPlace | undefined;
  /** Whether the place is sent with the message. */
  readonly sendsPlace: boolean;
  /** Called when the user switches the place on or off. */
  readonly onSendsPlaceChange: (sendsPlace: boolean) => void;
  /** The other contexts that are sent. */
  readonly contexts: readonly ChatContext[];
  /** Removes a context from the message. */
  readonly onRemove: (context: ChatContext) => void;
}

/** The chips; nothing when there is no context. */
export function Chips({ place, sendsPlace, onSendsPlaceChange, contexts, onRemove }: Props): React.ReactElement | null {
  const { trans } = useEnv();
  if (place === undefined && contexts.length === 0) {
    return null;
  }
  return (
    <ul className="eca-Chips" aria-label={trans.__('Sent with the message')}>
      {place !== undefined && (
        <li>
          <button
            type="button"
            className="eca-Chip"
            aria-pressed={sendsPlace}
            title={
              sendsPlace
                ? trans.__('%1 is sent with the message: %2. Click to leave it out.', place.detail, place.content)
                : trans.__('Not sent. Click to send %1 with the message.', place.detail)
            }
            onClick={() => {
              onSendsPlaceChange(!sendsPlace);
            }}
          >
            <Icon name="cell" />
            <span>{place.label}</span>
          </button>
        </li>
      )}
      {contexts.map(context => {
        const { label, detail } = describeContext(context);
        return (
          <li key={createContextKey(context)} className="eca-Chip" title={detail}>
            {context.type === 'image' && 'base64' in context ? (
              <img alt="" src={`data:${context.mediaType};base64,${context.base64}`} />
            ) : (
              <Icon name={getKindIcon(context.type)} />
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
