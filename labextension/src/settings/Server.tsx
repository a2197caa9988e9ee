/**
 * Draws a tool server in the settings: its status, its error, its tools, its log, and the buttons that start, stop or
 * remove it. A tool server is an MCP server (Model Context Protocol), or the assistant itself with its own tools.
 *
 * This module knows no session: the list and the requests are in `Servers.tsx`.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { ServerLogLine, ServerStatus, ServerTool, ToolServerUpdatedParams } from '../wire/protocol';
import { toPlainText } from '../render/format';
import { useEnv } from '../view/common/env';
import { TextWithCode } from '../view/common/TextWithCode';
import { ConfirmedButton } from './ConfirmedButton';
import { FileLinks } from './FileLink';
import { Toggle } from '../view/common/Toggle';

/** The functions that the buttons of a server call. `name` is the name of the server. */
export interface ServerActions {
  /** Starts a server that is stopped or has failed. */
  readonly onStart: (name: string) => void;
  /** Stops a server until the user starts it, or Jupyter is started again. */
  readonly onStop: (name: string) => void;
  /** Enables a server in the configuration. */
  readonly onEnable: (name: string) => void;
  /** Disables a server in the configuration: it is not started until it is enabled again. */
  readonly onDisable: (name: string) => void;
  /** Begins a sign-in to the server in the browser. */
  readonly onSignIn: (name: string) => void;
  /** Forgets the sign-in to the server. */
  readonly onSignOut: (name: string) => void;
  /** Opens the form that changes the server. */
  readonly onEdit: (name: string) => void;
  /** Removes a server from the configuration. */
  readonly onRemove: (name: string) => Promise<void>;
  /** Switches a tool on (`isOn`) or off. */
  readonly onSwitch: (server: string, tool: string, isOn: boolean) => Promise<void>;
  /** Fetches the last lines of the log of a server. */
  readonly readLog: (name: string) => Promise<readonly ServerLogLine[]>;
}

type Props = ServerActions & {
  readonly server: ToolServerUpdatedParams;
  /** The files that define the server, the one that counts first. */
  readonly files?: readonly string[];
  /** The form that changes the server, while it is open. */
  readonly children?: React.ReactNode;
};

/** Draws the card of one tool server. Its tools or its log are shown when the user opens them. */
export function ServerCard({ server, files = [], children, ...actions }: Props): React.ReactElement {
  const { trans } = useEnv();
  const { name, status, type, tools = [], command, args = [], url, error } = server;
  const [openPart, setOpenPart] = React.useState<'tools' | 'log'>();
  const statusTexts = useStatusTexts();
  const toggle = (part: 'tools' | 'log'): void => {
    setOpenPart(openPart === part ? undefined : part);
  };
  const disabledTools = tools.filter(({ disabled }) => disabled);
  return (
    <li className={`eca-Card eca-mod-${status}`} aria-label={name}>
      <div className="eca-Card-head">
        <strong dir="auto">{type === 'native' ? trans.__('Tools of the assistant') : name}</strong>
        <span className={`eca-Badge eca-mod-${status}`}>{statusTexts[status]}</span>
        <code dir="auto">{url ?? [command, ...args].filter(Boolean).join(' ')}</code>
      </div>
      {files.length > 0 && <FileLinks files={files} />}
      {error !== undefined && (
        <p className="eca-Trouble" dir="auto">
          <TextWithCode text={toPlainText(error)} />
        </p>
      )}
      {disabledTools.length > 0 && (
        <p className="eca-Note" dir="auto">
          {trans.__(
            'Off: %1. They are switched off under Tools, or the chosen agent does not use them.',
            disabledTools.map(tool => tool.name).join(', ')
          )}
        </p>
      )}
      <div className="eca-Card-actions">
        {tools.length > 0 && (
          <Toggle
            open={openPart === 'tools'}
            onClick={() => {
              toggle('tools');
            }}
          >
            {trans.__('Tools (%1 of %2)', tools.length - disabledTools.length, tools.length)}
          </Toggle>
        )}
        {type === 'mcp' && (
          <>
            <Toggle
              open={openPart === 'log'}
              onClick={() => {
                toggle('log');
              }}
            >
              {trans.__('Log')}
            </Toggle>
            <ServerButtons server={server} {...actions} />
          </>
        )}
      </div>
      {openPart === 'tools' && <ToolSwitches server={name} tools={tools} onSwitch={actions.onSwitch} />}
      {openPart === 'log' && <ServerLog name={name} status={status} readLog={actions.readLog} />}
      {children}
    </li>
  );
}

/** Return the statuses of a tool server in words. */
function useStatusTexts(): Readonly<Record<ServerStatus, string>> {
  const { trans } = useEnv();
  return {
    starting: trans.__('starting'),
    running: trans.__('running'),
    stopping: trans.__('stopping'),
    stopped: trans.__('stopped'),
    failed: trans.__('failed'),
    disabled: trans.__('disabled'),
    'requires-auth': trans.__('wants you to sign in')
  };
}

/** Draws the buttons that are possible in the present status of a server. */
function ServerButtons({ server: { name, status, hasAuth }, ...actions }: Props): React.ReactElement {
  const { trans } = useEnv();
  const isRunning = status === 'running' || status === 'starting';
  // For each button: whether it is shown, its label, its tooltip, and the function that it calls.
  const buttons: readonly (readonly [boolean, string, string, (name: string) => void])[] = [
    [
      status === 'requires-auth',
      trans.__('Sign in'),
      trans.__('Sign in to the server in the browser'),
      actions.onSignIn
    ],
    [hasAuth === true, trans.__('Sign out'), trans.__('Forget the sign-in to the server'), actions.onSignOut],
    [
      isRunning,
      trans.__('Stop'),
      trans.__('Stop the server until you start it, or Jupyter is started again'),
      actions.onStop
    ],
    [status === 'stopped' || status === 'failed', trans.__('Start'), trans.__('Start the server now'), actions.onStart],
    [
      status === 'disabled',
      trans.__('Enable'),
      trans.__('Write into the configuration that the server is started, and start it'),
      actions.onEnable
    ],
    [
      status !== 'disabled',
      trans.__('Disable'),
      trans.__('Stop the server, and write into the configuration that it is not started any more'),
      actions.onDisable
    ],
    [true, trans.__('Edit…'), trans.__('Change how the server is started or reached'), actions.onEdit]
  ];
  return (
    <>
      {buttons.map(
        ([isShown, label, tooltip, act]) =>
          isShown && (
            <button
              key={label}
              type="button"
              title={tooltip}
              className="eca-Button"
              onClick={() => {
                act(name);
              }}
            >
              {label}
            </button>
          )
      )}
      <ConfirmedButton
        label={trans.__('Remove')}
        confirmLabel={trans.__('Remove permanently')}
        title={trans.__('Stop the server, and delete it from the configuration')}
        onConfirm={() => void actions.onRemove(name)}
      />
    </>
  );
}

interface ToolsProps extends Pick<ServerActions, 'onSwitch'> {
  readonly server: string;
  readonly tools: readonly ServerTool[];
}

/** Draws the tools of a server, each with a checkbox that switches it on or off. */
function ToolSwitches({ server, tools, onSwitch }: ToolsProps): React.ReactElement {
  /** The name of the tool that is being switched on or off; empty when there is none. */
  const [switchedTool, setSwitchedTool] = React.useState('');
  return (
    <ul className="eca-Switches">
      {tools.map(({ name, description, disabled }) => (
        <li key={name}>
          <label>
            <input
              type="checkbox"
              checked={!disabled}
              disabled={switchedTool !== ''}
              onChange={() => {
                setSwitchedTool(name);
                void onSwitch(server, name, disabled).then(() => {
                  setSwitchedTool('');
                });
              }}
            />
            <code>{name}</code>
          </label>
          <span className="eca-Switches-what" dir="auto" title={toPlainText(description)}>
            {toPlainText(description).split('\n', 1)[0]}
          </span>
        </li>
      ))}
    </ul>
  );
}

interface LogProps extends Pick<ServerActions, 'readLog'> {
  readonly name: string;
  readonly status: ServerStatus;
}

/** Draws the log of a server. It is read again whenever the status of the server changes. */
function ServerLog({ name, status, readLog }: LogProps): React.ReactElement {
  const { trans } = useEnv();
  const [lines, setLines] = React.useState<readonly ServerLogLine[]>();
  const reload = React.useCallback(() => void readLog(name).then(setLines), [readLog, name]);
  React.useEffect(reload, [reload, status]);
  return (
    <div className="eca-Log">
      <pre tabIndex={0} aria-label={trans.__('Log of %1', name)}>
        {lines === undefined || lines.length === 0 ? trans.__('Nothing yet.') : lines.map(formatLog).join('\n')}
      </pre>
      <button type="button" className="eca-Button" onClick={reload}>
        {trans.__('Read again')}
      </button>
    </div>
  );
}

/** Return a line of the log, for example `10:15:00 error stderr: no such file`. */
function formatLog({ at, level, source, text }: ServerLogLine): string {
  const time = new Date(at).toLocaleTimeString();
  return `${time} ${level}${source === undefined ? '' : ` ${source}`}: ${toPlainText(text)}`;
}
