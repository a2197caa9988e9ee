/**
 * Shows a question of the panel on one line, with a button for each answer. With Escape and *Cancel* the user chooses
 * nothing.
 *
 * This module knows no question. Questions of the assistant are in `transcript/Question.tsx`.
 */

import * as React from 'react';

import { createElement } from './element';
import { useEnv } from './env';

interface Props<T> {
  /** A CSS class of the group, in addition to the common one. */
  readonly className?: string;
  /** The name of the group for a screen reader. */
  readonly label: string;
  /** The question. */
  readonly question: string;
  /** The label and the value of each answer. */
  readonly choices: readonly (readonly [string, T])[];
  /** Called with the value that was chosen; undefined when the user cancels. */
  readonly onChoose: (chosen: T | undefined) => void;
}

/** The question and its buttons. The first button gets the focus. */
export function Choices<T>({ className, label, question, choices, onChoose }: Props<T>): React.ReactElement {
  const { trans } = useEnv();
  const allChoices: readonly (readonly [string, T | undefined])[] = [...choices, [trans.__('Cancel'), undefined]];
  return (
    <div
      className={`eca-User-extents ${className ?? ''}`}
      role="group"
      aria-label={label}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          onChoose(undefined);
        }
      }}
    >
      <span>{question}</span>
      {allChoices.map(([name, chosen], index) => (
        <button
          key={name}
          type="button"
          className="eca-Button"
          autoFocus={index === 0}
          onClick={() => {
            onChoose(chosen);
          }}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
