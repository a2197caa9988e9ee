/**
 * Shows a question of the assistant, with its options and a field for another answer.
 *
 * This module knows no session. Tool calls that wait for approval are in `tools/Approval.tsx`.
 */

import * as React from 'react';

import { ChatAskQuestionResult } from '../../wire/protocol';
import { Question as OpenQuestion } from '../../chat/state';
import { toExactText } from '../../render/format';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';

interface Props {
  readonly question: OpenQuestion;
  /** Called with the key of the question, and with the answer. The answer to a skipped question is `cancelled`. */
  readonly onAnswer: (key: number, answer: ChatAskQuestionResult) => void;
}

/** Draws the question, with a button for each option. */
export function Question({ question, onAnswer }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [text, setText] = React.useState('');
  const options = question.options ?? [];
  const title = React.useId();
  return (
    <form
      className="eca-Question"
      role="group"
      aria-labelledby={title}
      onSubmit={event => {
        event.preventDefault();
        if (text.trim() !== '') {
          onAnswer(question.key, { answer: text.trim() });
        }
      }}
    >
      <p id={title} dir="auto">
        {toExactText(question.question)}
      </p>
      {options.length > 0 && (
        <ul className="eca-Options">
          {options.map(({ label, description }) => (
            <li key={label}>
              <button
                type="button"
                className="eca-Option"
                onClick={() => {
                  onAnswer(question.key, { answer: label });
                }}
              >
                <span dir="auto">{toExactText(label)}</span>
                {description !== undefined && <small dir="auto">{toExactText(description)}</small>}
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="eca-Approval">
        {(question.allowFreeform || options.length === 0) && (
          <>
            <input
              className="eca-Input"
              type={question.secret === true ? 'password' : 'text'}
              autoComplete="off"
              dir="auto"
              value={text}
              aria-label={trans.__('Your answer')}
              placeholder={options.length > 0 ? trans.__('Or something else…') : trans.__('Your answer')}
              onChange={event => {
                setText(event.target.value);
              }}
            />
            <button type="submit" className="eca-Button eca-mod-main" disabled={text.trim() === ''}>
              {trans.__('Answer')}
            </button>
          </>
        )}
        <button
          type="button"
          className="eca-Button"
          onClick={() => {
            onAnswer(question.key, { cancelled: true });
          }}
        >
          {trans.__('Skip')}
        </button>
      </div>
    </form>
  );
}
