/**
 * Draws the arguments and the result of a tool call. Both are data, so they are shown as plain text.
 *
 * This module knows no session. `ToolCard.tsx` decides whether the details are shown.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { countParts, ToolBlock } from '../../chat/blocks';
import { RunCellsDetails, SandboxState, ShellCommandDetails } from '../../wire/protocol';
import { formatCount, toExactText } from '../../render/format';
import { formatJson, repeatsText } from '../../render/json_results';
import { Diff } from '../common/Diff';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { ExactText } from '../common/ExactText';
import { LongText } from '../common/LongText';
import { Tasks } from './Plan';
import { explainDecision } from './approval_reason';

interface Props {
  /** The tool call. */
  readonly block: ToolBlock;
  /** Whether the transcript of the call's subagent is shown below the details. */
  readonly hasTranscript: boolean;
  /** Whether to show only the arguments, without the result, the name of the tool and the reason for asking. */
  readonly onlyArguments?: boolean;
}

/** Draws the arguments, the result, the name of the tool, and why the call ran or was forbidden. */
export function ToolDetails({ block, hasTranscript, onlyArguments = false }: Props): React.ReactElement {
  const { trans, fetchWholeOutput } = useEnv();
  const name = toExactText(block.name);
  /** The whole output, after the user has asked for it. */
  const [wholeOutput, setWholeOutput] = React.useState<string>();
  // The result is not shown if it only repeats what the user sees elsewhere: the diff of a change, the list of tasks
  // above the prompt box, or the last message of a subagent.
  const isOnlyChange = block.details?.type === 'fileChange' && (block.details.runs ?? []).length === 0;
  const isRepetition = isOnlyChange || block.details?.type === 'task' || hasTranscript;
  const isHidden = block.status === 'done' && isRepetition;
  const output = isHidden ? '' : block.outputs.map(({ text }) => text).join('\n');
  // Many MCP servers send a result twice: as text for the model and as JSON for programs.
  const results = block.details?.type === 'jsonOutputs' ? block.details.jsons : [];
  const jsons = results.filter(json => !repeatsText(json, output));
  if (onlyArguments) {
    return (
      <div className="eca-Tool-body">
        <ArgumentsView block={block} />
      </div>
    );
  }
  return (
    <div className="eca-Tool-body">
      <ArgumentsView block={block} />
      {output + jsons.join('') !== '' && (
        <div role="group" aria-label={trans.__('Result')} className="eca-Tool-result">
          {output !== '' && <LongText text={wholeOutput ?? (results.length > 0 ? formatJson(output) : output)} />}
          {jsons.map((json, index) => (
            <LongText key={index} text={formatJson(json)} />
          ))}
          {block.wholeLength !== undefined && wholeOutput === undefined && fetchWholeOutput !== undefined && (
            <button
              type="button"
              className="eca-Link"
              onClick={() => {
                void fetchWholeOutput(block.id).then(setWholeOutput);
              }}
            >
              {trans.__('Load the whole output (%1 characters)', formatCount(block.wholeLength))}
            </button>
          )}
        </div>
      )}
      <p className="eca-Tool-origin">
        {block.origin === 'mcp' ? trans.__('%1, from the MCP server %2', name, toExactText(block.server)) : name}
      </p>
      <Reason block={block} />
    </div>
  );
}

/** Shows the arguments in the clearest form: a change as a diff, a command as a command line, others as a list. */
function ArgumentsView({ block }: { readonly block: ToolBlock }): React.ReactElement {
  const { trans } = useEnv();
  // `remaining` is what is left of a change of which the user has left out parts.
  const details = block.remaining ?? block.details;
  switch (details?.type) {
    case 'fileChange':
      return (
        <>
          <p className="eca-Tool-path">
            {toExactText(details.path)} <span className="eca-mod-added">+{details.linesAdded}</span>{' '}
            <span className="eca-mod-removed">−{details.linesRemoved}</span>
          </p>
          {countParts(block)?.changesSomething === false ? (
            <p className="eca-Note">{trans.__('All parts are left out.')}</p>
          ) : (
            <Diff diff={details.diff} isNotebook={details.cells !== undefined || makesNotebook(block)} />
          )}
          {details.runs !== undefined && (
            <>
              <p className="eca-Tool-path">{trans.__('Then these cells run:')}</p>
              <RunCells details={{ type: 'runCells', path: details.path, cells: details.runs }} />
            </>
          )}
        </>
      );
    case 'shellCommand':
      return (
        <>
          <Commands details={details} />
          <Arguments block={block} except={['command']} />
        </>
      );
    case 'runCells':
      return (
        <>
          <RunCells details={details} />
          <Arguments block={block} except={['path', 'cells']} />
        </>
      );
    case 'task':
      return <Tasks tasks={details.tasks} />;
    default:
      return <Arguments block={block} />;
  }
}

/** Whether a call makes a notebook. Its diff has the headings of cells, too. */
function makesNotebook({ origin, name }: ToolBlock): boolean {
  return origin === 'native' && name === 'notebook_create';
}

interface ArgumentsProps {
  readonly block: ToolBlock;
  /** The names of the arguments that are left out, because the details of the call show them. */
  readonly except?: readonly string[];
}

/** Draws the arguments as a list or, while the model writes them, as the text that has arrived so far. */
function Arguments({ block, except = [] }: ArgumentsProps): React.ReactElement | null {
  if (block.arguments === undefined) {
    return block.argumentsText === '' || except.length > 0 ? null : <LongText text={block.argumentsText} exact />;
  }
  const entries = Object.entries(block.arguments).filter(([name]) => !except.includes(name));
  return entries.length === 0 ? null : (
    <dl className="eca-Arguments">
      {entries.map(([name, value]) => (
        <Argument
          key={name}
          name={name}
          text={typeof value === 'string' ? value : JSON.stringify(value, undefined, 1)}
        />
      ))}
    </dl>
  );
}

/** A value with at most this many characters is shown on the line of its name. */
const MAX_SHORT_LENGTH = 60;

/** Draws one argument. `text` is its value: a string unchanged, any other value as JSON. */
function Argument({ name, text }: { readonly name: string; readonly text: string }): React.ReactElement {
  const isShort = text.length <= MAX_SHORT_LENGTH && !text.includes('\n');
  return (
    <div className={isShort ? 'eca-mod-short' : undefined}>
      <dt>{toExactText(name)}</dt>
      <dd>{isShort ? toExactText(text) : <LongText text={text} exact />}</dd>
    </div>
  );
}

/** Draws the cells that the call runs, with their exact sources. */
function RunCells({ details }: { readonly details: RunCellsDetails }): React.ReactElement {
  const { trans } = useEnv();
  return (
    <div role="group" aria-label={trans.__('Cells that run')}>
      <p className="eca-Tool-path">{toExactText(details.path)}</p>
      <dl className="eca-Arguments">
        {details.cells.map((cell, index) => (
          <div key={index}>
            <dt>{trans.__('Cell %1', cell.number)}</dt>
            <dd>
              <LongText text={cell.source} exact />
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/**
 * Draws the exact command line, and below it the commands that the approval rules find in it. Chats of older versions
 * have only the commands.
 */
function Commands({ details }: { readonly details: ShellCommandDetails }): React.ReactElement {
  const { trans } = useEnv();
  const { line, parsed, commands } = details;
  const lines = line === undefined ? commands.map(part => [part.command, ...part.args].join(' ')) : [line];
  return (
    <div className="eca-Shell" role="group" aria-label={trans.__('Commands')}>
      {lines.map((text, index) => (
        <pre key={index} tabIndex={0}>
          <span className="eca-Shell-prompt" aria-hidden="true">
            ${' '}
          </span>
          <ExactText text={text} />
        </pre>
      ))}
      {details.sandbox !== undefined && (
        <p className={`eca-Tool-why eca-mod-${details.sandbox}`}>{describeSandbox(details.sandbox, trans)}</p>
      )}
      {parsed !== undefined && parsed.length > 1 && (
        <ol className="eca-Shell-parsed" aria-label={trans.__('The commands in this line')}>
          {parsed.map((text, index) => (
            <li key={index}>
              <code>{toExactText(text)}</code>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

/** Return a text that says whether a command runs in the sandbox. `trusted`: it runs there without an approval. */
function describeSandbox(sandbox: SandboxState, trans: TranslationBundle): string {
  switch (sandbox) {
    case 'inside':
    case 'trusted':
      return trans.__('In the sandbox');
    case 'outside':
      return trans.__('Outside of the sandbox, with all your rights');
    case 'missing':
      return trans.__('Without a sandbox, with all your rights: this machine has none');
  }
}

/** Shows why the call ran, needed an approval or was forbidden. */
function Reason({ block }: { readonly block: ToolBlock }): React.ReactElement | null {
  const { trans } = useEnv();
  const explanation = explainDecision(block, trans);
  return explanation === '' ? null : <p className="eca-Tool-why">{explanation}</p>;
}
