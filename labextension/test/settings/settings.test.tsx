/**
 * The settings: servers, providers, rules, jobs and cost. What their views show, and what they request from the server.
 */

import { nullTranslator } from '@jupyterlab/translation';
import * as React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';

import { ApprovalRules, makeCallKey } from '../../src/chat/approval_rules';
import { addContent, ToolBlock } from '../../src/chat/blocks';
import { joinWords, parsePairs, splitWords } from '../../src/settings/command_line';
import { createElement } from '../../src/view/common/element';
import { DEFAULTS, readPreferences } from '../../src/view/common/preferences';
import {
  AgentEntry,
  ApprovalRule,
  Cost,
  ProviderStatus,
  SkillEntry,
  ServerMethods,
  ClientMethods,
  ToolServerUpdatedParams
} from '../../src/wire/protocol';
import { Peer } from '../../src/wire/rpc';
import { Session } from '../../src/chat/session';
import { createState, createChat, reduce } from '../../src/chat/state';
import { describeProgress, describeStatus } from '../../src/chat/status_text';
import { RuleProposal, formatRule } from '../../src/view/tools/RuleProposal';
import { AgentForm, readAgent } from '../../src/settings/AgentForm';
import { AgentCard } from '../../src/settings/Agents';
import { CostTable } from '../../src/settings/Costs';
import { FileLinks } from '../../src/settings/FileLink';
import { SkillForm, readSkill } from '../../src/settings/SkillForm';
import { SkillCard } from '../../src/settings/Skills';
import { Env, EnvProvider } from '../../src/view/common/env';
import { TextWithCode } from '../../src/view/common/TextWithCode';
import { JobCard } from '../../src/settings/Jobs';
import { Step } from '../../src/view/first_run/Login';
import { ProviderCard } from '../../src/settings/Providers';
import { DefaultList } from '../../src/settings/Defaults';
import { findFileOfRule, RuleEditor, toDraft, toRule, RuleDescription } from '../../src/settings/RuleEditor';
import { TriedCalls } from '../../src/settings/RuleTrial';
import { listTools, makeRuleKey, RuleList } from '../../src/settings/Rules';
import { ServerCard } from '../../src/settings/Server';
import { readServer } from '../../src/settings/ServerForm';
import { createLinks } from '../support/memory_link';

const nothing = (): void => undefined;
const later = (): Promise<void> => Promise.resolve();
const trans = nullTranslator.load('');
const env: Env = {
  trans,
  markdown: later,
  openPath: nothing,
  showCell: nothing
};

function shown(view: React.ReactElement): string {
  return renderToStaticMarkup(<EnvProvider value={env}>{view}</EnvProvider>);
}

const buttons = (html: string): string[] => [...html.matchAll(/<button[^>]*>([^<]*)/g)].map(([, text]) => text ?? '');

function card(more: Partial<ToolServerUpdatedParams>): string {
  const acts = { onStart: nothing, onStop: nothing, onEnable: nothing, onDisable: nothing };
  const signs = { onSignIn: nothing, onSignOut: nothing, onEdit: nothing, onRemove: later, onSwitch: later };
  const one = { type: 'mcp', name: 'docs', status: 'running', ...more } as const;
  return shown(<ServerCard server={one} {...acts} {...signs} readLog={() => Promise.resolve([])} />);
}

test('the buttons of a server depend on its status', () => {
  const tool = { name: 'search', description: 'Finds.', parameters: {}, disabled: false };
  const tools = [tool, { ...tool, name: 'write', disabled: true }];
  expect(buttons(card({ tools }))).toEqual(['Tools (1 of 2)', 'Log', 'Stop', 'Disable', 'Edit…', 'Remove']);
  expect(buttons(card({ status: 'requires-auth', url: 'https://a.b' }))).toEqual([
    'Log',
    'Sign in',
    'Disable',
    'Edit…',
    'Remove'
  ]);
  expect(buttons(card({ status: 'disabled', hasAuth: true }))).toEqual([
    'Log',
    'Sign out',
    'Enable',
    'Edit…',
    'Remove'
  ]);
  expect(buttons(card({ type: 'native', name: 'ECA', tools }))).toEqual(['Tools (1 of 2)']);
  expect(card({ tools })).toContain('Off: write.');
  expect(card({ tools: [tool] })).not.toContain('Off:');
  for (const [, attributes] of card({ tools }).matchAll(/<button([^>]*)>(?:Stop|Disable|Edit…|Remove)</g)) {
    expect(attributes).toContain('title="');
  }
  const failed = card({ status: 'failed', error: 'no <b>program</b>\u001b[31m' });
  expect(failed).toContain('no &lt;b&gt;program&lt;/b&gt;<');
  expect(buttons(failed)).toContain('Start');
});

test('a command line is split as in a shell, and a line that is no pair is refused', () => {
  expect(splitWords(String.raw`uvx --from "a \"b\" c" 'd e'f g\ h`)).toEqual([
    'uvx',
    '--from',
    'a "b" c',
    'd ef',
    'g h'
  ]);
  expect(parsePairs('A=1\n\n X-Key : a:b=c \n')).toEqual({ A: '1', 'X-Key': 'a:b=c' });
  expect(parsePairs('A=1\nnothing')).toBeUndefined();
});

test('a server is added as a program or as an address', () => {
  const program = { name: ' docs ', command: 'uvx "some server"', env: 'A=1', scope: 'workspace' };
  const said = (form: Readonly<Record<string, string>>) => readServer(name => form[name] ?? '');
  const docs = { name: 'docs', scope: 'workspace', command: 'uvx', args: ['some server'], env: { A: '1' } };
  expect(said(program)).toEqual(docs);
  const far = { name: 'far', kind: 'url', url: 'https://a.b', headers: '' };
  expect(said(far)).toEqual({ name: 'far', scope: 'global', url: 'https://a.b' });
  expect(said({ ...program, env: 'broken' })).toBeUndefined();
});

test('a provider shows where its key comes from, and only a key that was typed can be removed', () => {
  const login = { methods: [{ key: 'manual', label: 'Type a key' }] };
  const one = (auth: ProviderStatus['auth']): string =>
    shown(
      <ProviderCard
        provider={{ id: 'a', configured: true, auth, login, models: [] }}
        onSignIn={nothing}
        onSignOut={nothing}
        trial={undefined}
        onTry={nothing}
      >
        {false}
      </ProviderCard>
    );
  const env = one({ status: 'authenticated', source: 'env', envVar: 'A_KEY' });
  expect(env).toContain('key from A_KEY');
  expect(buttons(env)).toEqual(['Use another key…', 'Try the key']);
  expect(buttons(one({ status: 'authenticated', source: 'login' }))).toEqual([
    'Use another key…',
    'Try the key',
    'Sign out'
  ]);
  expect(buttons(one({ status: 'unauthenticated' }))).toEqual(['Paste a key…']);
});

test('only a key that has worked is green, a refused one is red, and an untried one says so', () => {
  const badges = (auth: ProviderStatus['auth']): string[][] => {
    const html = shown(
      <ProviderCard
        provider={{ id: 'a', configured: true, auth, models: [] }}
        onSignIn={nothing}
        onSignOut={nothing}
        trial={undefined}
        onTry={nothing}
      >
        {false}
      </ProviderCard>
    );
    return [...html.matchAll(/<span class="eca-(?:Badge|Trial) eca-mod-([^"]*)">([^<]*)/g)].map(
      ([, ...found]) => found
    );
  };
  const auth = { status: 'authenticated', source: 'login' } as const;
  const signedIn = ['authenticated', 'signed in'];
  expect(badges(auth)).toEqual([signedIn, ['untried', 'not tried yet']]);
  expect(badges({ ...auth, trial: 'works' })).toEqual([signedIn, ['works', 'the key works']]);
  expect(badges({ ...auth, trial: 'refused' })).toEqual([signedIn, ['refused', 'the key was refused']]);
  expect(badges({ status: 'unauthenticated' })).toEqual([['unauthenticated', 'no key']]);
});

test('code in a sentence of the server has no backticks', () => {
  const html = shown(<TextWithCode text="Set `A_KEY` or `B_KEY`, and a lone ` stays." />);
  expect(html).toBe('Set <code>A_KEY</code> or <code>B_KEY</code>, and a lone ` stays.');
});

test('the field for a secret shows and keeps nothing, and only web addresses become links', () => {
  const step = (url: string): string =>
    shown(
      <Step
        step={{ action: 'authorize', url, fields: [{ key: 'key', label: 'API key', type: 'secret' }] }}
        onMethod={nothing}
        onEnter={nothing}
      />
    );
  expect(step('https://a.b/')).toContain('href="https://a.b/" target="_blank" rel="noopener noreferrer"');
  expect(step('javascript:alert(1)')).not.toContain('href');
  expect(step('https://a.b/')).toMatch(/<input [^>]*type="password"[^>]*>/);
  expect(step('https://a.b/')).not.toMatch(/<input [^>]*value=/);
});

const OWN: ApprovalRule = {
  decision: 'allow',
  rule: 'eca__shell_command',
  argsMatchers: { command: ['git\\ status'], working_directory: [''] },
  files: ['.eca/config.json'],
  builtIn: false,
  own: true
};

test("rules are listed with their files, the strictest first, and only the user's own can be changed or removed", () => {
  const built = { decision: 'allow', rule: 'grep', files: [], builtIn: true, own: false } as const;
  const deny = { ...built, decision: 'deny', rule: 'docs', builtIn: false, agent: 'plan' } as const;
  const html = shown(
    <RuleList rulesResult={{ rules: [built, OWN, deny], byDefault: 'ask' }} onEdit={nothing} onRemove={later} />
  );
  expect(html.indexOf('docs')).toBeLessThan(html.indexOf('grep'));
  expect([...html.matchAll(/eca-Rules-from">(?:<span><code[^>]*>)?([^<]*)/g)].map(([, from]) => from)).toEqual([
    'agent plan · set when the server was started',
    '.eca/config.json',
    'built in'
  ]);
  expect([...html.matchAll(/aria-label="(Remove[^"]*)"/g)].map(([, name]) => name)).toEqual([
    'Remove the rule eca__shell_command'
  ]);
  expect([...html.matchAll(/aria-label="(Edit[^"]*)"/g)].map(([, name]) => name)).toEqual([
    'Edit the rule eca__shell_command'
  ]);
  expect(html).toContain('command: git\\ status');
});

test('the form of a rule that is changed is filled, and stands in the place of the rule', () => {
  const rule: ApprovalRule = { ...OWN, argsMatchers: { command: ['git a', 'git b'], working_directory: [''] } };
  const draft = toDraft(rule);
  expect(draft.matchers).toEqual([
    { argument: 'command', pattern: 'git a' },
    { argument: 'command', pattern: 'git b' },
    { argument: 'working_directory', pattern: '' }
  ]);
  const same = { decision: 'allow', rule: rule.rule, argsMatchers: rule.argsMatchers, scope: 'workspace' };
  expect(toRule(draft, rule)).toEqual(same);
  expect(toRule(draft)).toBeUndefined();
  const fewer = { ...draft, matchers: [{ argument: '', pattern: '' }, ...draft.matchers.slice(1)] };
  expect(toRule(fewer, rule)?.argsMatchers).toEqual({ command: ['git b'], working_directory: [''] });
  const editor = (old: ApprovalRule): string =>
    shown(
      <RuleEditor
        old={old}
        rules={[]}
        tools={{}}
        onTry={() => Promise.resolve({ calls: [] })}
        onSubmit={() => Promise.resolve('')}
        onCancel={nothing}
      />
    );
  const html = editor(rule);
  expect(html).toContain('value="eca__shell_command"');
  expect(html).toContain('value="git b"');
  expect(html).toContain('The change is written to the file that has the rule: .eca/config.json');
  expect(buttons(html)).toEqual(['Another argument or pattern', 'Try it on recent calls', 'Save the rule', 'Cancel']);
  expect(html).not.toContain('needs approval each time');
  expect(editor({ ...rule, decision: 'alwaysAsk' })).toContain('needs approval each time');
  const list = (editedRule: string): string =>
    shown(
      <RuleList
        rulesResult={{ rules: [rule], byDefault: 'ask' }}
        editedRule={editedRule}
        renderForm={({ files }) => <form>{files}</form>}
        onEdit={nothing}
        onRemove={later}
      />
    );
  expect(list(makeRuleKey(rule))).toContain('<form>.eca/config.json</form>');
  expect(list('')).not.toContain('<form>');
});

test('a new rule can be for the notebook in front, and is then in no file', () => {
  const draft = { ...toDraft(OWN), scope: 'notebook' } as const;
  const argsMatchers = { command: ['git\\ status'] };
  const onlyCommand = { ...draft, matchers: draft.matchers.slice(0, 1) };
  const rule = toRule(onlyCommand, undefined, 'work/a.ipynb');
  expect(rule).toEqual({ decision: 'allow', rule: OWN.rule, argsMatchers, notebook: 'work/a.ipynb' });
  expect(findFileOfRule([OWN], { decision: 'allow', rule: OWN.rule, notebook: 'work/a.ipynb' })).toBeUndefined();
  expect(toRule(onlyCommand)).toBeUndefined();
  const form = (notebook?: string): string =>
    shown(
      <RuleEditor
        rules={[]}
        tools={{}}
        notebook={notebook}
        onTry={() => Promise.resolve({ calls: [] })}
        onSubmit={() => Promise.resolve('')}
        onCancel={nothing}
      />
    );
  expect(form('work/a.ipynb')).toContain('>the notebook work/a.ipynb<');
  expect(form()).not.toContain('value="notebook"');
});

test('a tried rule shows what it would do with earlier calls, why, and what happened to them', () => {
  const call = { chatId: 'a', name: 'shell_command', at: 0 } as const;
  const html = shown(
    <TriedCalls
      result={{
        calls: [
          {
            ...call,
            toolCallId: '2',
            summary: 'Running git push',
            selected: true,
            decision: 'deny',
            cause: { kind: 'rule', rule: 'shell_command', notebook: 'a.ipynb' },
            happened: 'approved'
          },
          {
            ...call,
            toolCallId: '1',
            selected: false,
            decision: 'ask',
            cause: { kind: 'default' },
            happened: 'notRun'
          }
        ]
      }}
    />
  );
  expect(html).toContain('The rule matches 1 of the newest 2 calls of this tool.');
  const cells = [...html.matchAll(/<t[hd](?: scope="row"[^>]*)?>([^<]+)/g)].map(([, text]) => text);
  expect(cells).toEqual([
    'Running git push',
    'is forbidden',
    'was approved',
    'shell_command',
    'needs approval',
    'did not run'
  ]);
  expect(html).toContain('Forbidden by the rule shell_command of the notebook a.ipynb');
  expect(shown(<TriedCalls result={{ calls: [] }} />)).toContain('Your chats have no call of this tool yet.');
});

test('a proposed rule is shown as it will be written, or the reason why there is none', () => {
  expect(JSON.parse(formatRule({ decision: 'allow', rule: 'docs' }))).toEqual({
    toolCall: { approval: { allow: { docs: {} } } }
  });
  const proposal = (found: React.ComponentProps<typeof RuleProposal>['proposal'], trouble = ''): string =>
    shown(<RuleProposal proposal={found} error={trouble} busy={false} heading="" onWrite={nothing} onBack={nothing} />);
  const places = [{ scope: 'workspace', file: '.eca/config.json' }] as const;
  expect(buttons(proposal({ rule: OWN, places }))).toEqual(['Write the rule and run', 'Back']);
  expect(proposal({ places: [] }, 'The call would still need approval.')).toContain(
    'The call would still need approval.'
  );
  expect(buttons(proposal({ places: [] }, 'No.'))).toEqual(['Back']);
});

async function meet(): Promise<readonly [Session, unknown[]]> {
  const [ours, theirs] = createLinks();
  const server = new Peer<ServerMethods, ClientMethods>(theirs);
  const heard: unknown[] = [];
  const defaults = { chatDefaultModel: 'a/b', chatBehaviors: [], chatDefaultBehavior: '', chatWelcomeMessage: '' };
  server.handle('initialize', () => ({ models: ['a/b'], ...defaults }));
  server.handle('chat/list', () => ({ chats: [] }));
  server.handle('approvals/propose', params => {
    heard.push(['propose', params]);
    return { places: [] };
  });
  server.handle('approvals/add', params => {
    heard.push(['add', params]);
    return { file: '.eca/config.json' };
  });
  server.handle('approvals/remove', params => {
    heard.push(['remove', params]);
    return {};
  });
  server.handle('chat/toolCallApprove', params => {
    heard.push(['approve', params]);
  });
  const session = new Session({ open: () => Promise.resolve(ours), createId: () => 'a', callLater: () => nothing });
  await session.connect();
  return [session, heard];
}

test('a rule is written, exactly the call of that chat runs, and the rule can be removed again', async () => {
  const [session, heard] = await meet();
  const always = new ApprovalRules(() => session);
  const rule = { decision: 'allow', rule: 'docs' } as const;
  await always.propose('sub', 't');
  await always.addAndApprove('sub', 't', rule, { scope: 'global', file: '~/config.json' });
  expect(always.current()).toEqual({ [makeCallKey('sub', 't')]: { rule, file: '.eca/config.json' } });
  await always.remove('a', 't');
  expect(always.current()).not.toEqual({});
  await always.remove('sub', 't');
  expect(always.current()).toEqual({});
  await always.remove('sub', 't');
  expect(heard).toEqual([
    ['propose', { chatId: 'sub', toolCallId: 't' }],
    ['add', { ...rule, scope: 'global' }],
    ['approve', { chatId: 'sub', toolCallId: 't' }],
    ['remove', rule]
  ]);
});

test('a rule for the notebook is written for it and removed from it, and offered by its name', async () => {
  const [session, heard] = await meet();
  const always = new ApprovalRules(() => session);
  const rule = { decision: 'allow', rule: 'docs' } as const;
  const place = { scope: 'notebook', file: 'work/sales.ipynb' } as const;
  await always.addAndApprove('a', 't', rule, place);
  await always.remove('a', 't');
  const notebook = place.file;
  expect(heard).toEqual([
    ['add', { ...rule, notebook }],
    ['approve', { chatId: 'a', toolCallId: 't' }],
    ['remove', { ...rule, notebook }]
  ]);
  const places = [place, { scope: 'workspace', file: '.eca/config.json' }] as const;
  const html = shown(
    <RuleProposal proposal={{ rule, places }} error="" busy={false} heading="" onWrite={nothing} onBack={nothing} />
  );
  expect(html).toContain('work/sales.ipynb (this notebook)');
});

test('only a running job can be stopped', () => {
  const job = { id: 'j', type: 'shell', label: 'sleep', summary: '', startedAt: '', elapsed: '1s' } as const;
  const html = (status: 'running' | 'killed'): string =>
    shown(<JobCard job={{ ...job, status }} readOutput={() => Promise.resolve(undefined)} onKill={nothing} />);
  expect(buttons(html('running'))).toEqual(['Output', 'Stop the job']);
  expect(buttons(html('killed'))).toEqual(['Output']);
});

test('the cost is shown by message, chat, notebook and day, and requests of unknown price are counted', () => {
  const none: Cost = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, cost: 0, unpriced: 0 };
  const chat = { ...none, requests: 2, cost: 0.0123, unpriced: 1 };
  const html = shown(<CostTable costs={{ chat, today: chat, notebook: none, path: 'work/a.ipynb' }} title="Join" />);
  const heads = [...html.matchAll(/<th scope="row"[^>]*>([^<]*)/g)].map(([, head]) => head);
  expect(heads).toEqual(['This chat: Join', 'This notebook: a.ipynb', 'Today, all chats']);
  const columns = [...html.matchAll(/<th scope="col">([^<]+)</g)].map(([, column]) => column);
  expect(columns).toEqual(['Cost', 'Requests', 'Tokens in', 'Of these cached', 'Tokens out']);
  expect(html).toContain('0.012 USD and 1 of unknown price');
});

test('what waits for the user is named instead of what the server has said of the turn', () => {
  const running = { ...createChat('a'), status: 'running', progress: 'Calling a tool' } as const;
  expect(describeProgress(running, trans)).toBe('Calling a tool');
  const asked = { ...running, questions: [{ chatId: 'a', question: 'Which?', allowFreeform: true, key: 1 }] };
  expect(describeProgress(asked, trans)).toBe('Waiting for your answer');
  const called = { kind: 'tool', key: 'c', id: 'c', name: 'run_code', server: 'ECA', origin: 'native' } as const;
  const call: ToolBlock = { ...called, status: 'waiting', argumentsText: '', arguments: {}, outputs: [] };
  expect(describeProgress({ ...running, progress: '', blocks: [call] }, trans)).toBe('Waiting for approval');
  const inside = { ...running, subagents: { b: { ...running, blocks: [call] } } };
  expect(describeProgress(inside, trans)).toBe('Waiting for approval');
  const state = { ...createState('a'), connection: 'open', configured: true, models: ['x/big'] } as const;
  expect(describeStatus(state, inside, trans)).toMatch(/waits for you/);
  expect(describeProgress({ ...asked, status: 'stopping' }, trans)).toBe('Stopping…');
});

test('the status bar shows model, activity and cost, and an activity that waits for the user comes first', () => {
  const state = { ...createState('a'), connection: 'open', configured: true, models: ['x/big'] } as const;
  const chat = { ...createChat('a'), selection: { model: 'x/big' } };
  expect(describeStatus(state, chat, trans)).toBe('Assistant: big');
  expect(describeStatus({ ...state, models: [] }, createChat('a'), trans)).toBe('Assistant · no model');
  const usage = { type: 'usage', messageInputTokens: 1, messageOutputTokens: 1, sessionTokens: 1500 } as const;
  const running = { ...chat, status: 'running', usage } as const;
  expect(describeStatus(state, running, trans)).toBe('Assistant: big · running · 1.5k tokens');
  const asked = { ...running, questions: [{ chatId: 'a', question: 'Which?', allowFreeform: true, key: 1 }] };
  expect(describeStatus(state, asked, trans)).toMatch(/waits for you/);
  expect(describeStatus({ ...state, connection: 'lost' }, chat, trans)).toMatch(/not connected/);
});

test('the status bar names an outside agent, which has no model of ours', () => {
  const state = { ...createState('a'), connection: 'open', configured: true, outsideAgents: ['claude'] } as const;
  const chat = { ...createChat('a'), selection: { model: 'x/big', agent: 'claude' } };
  expect(describeStatus(state, chat, trans)).toBe('Assistant: claude');
  expect(describeStatus(state, { ...chat, selection: { model: 'x/big', agent: 'code' } }, trans)).toMatch(/big/);
});

test('a setting that does not fit the schema becomes the default', () => {
  expect(readPreferences({ side: 'left', sendKey: 'Shift+Enter', chips: false })).toEqual({
    side: 'left',
    sendKey: 'Shift+Enter',
    chips: false,
    chatGrouping: 'notebook',
    pinnedChats: [],
    pinChat: false,
    notifications: 'ask'
  });
  expect(readPreferences({ side: 'up', sendKey: 5, chips: 'no' })).toEqual(DEFAULTS);
});

test('a provider is known after it has signed in', () => {
  const params = { id: 'a', configured: true, auth: { status: 'authenticated' }, models: [] } as const;
  const state = reduce(createState('a'), { type: 'notification', method: 'providers/updated', params });
  expect(state.providers).toEqual({ a: params });
});

test('a flag is shown at its message, whenever it was set', () => {
  const say = (role: 'user' | 'system', content: object) => ({ chatId: 'a', role, content }) as never;
  const text = { type: 'text', text: 'One', contentId: 'c1' };
  const two = addContent(addContent([], say('user', text)), say('user', { ...text, contentId: 'c2' }));
  const blocks = addContent(two, say('system', { type: 'flag', text: 'here', contentId: 'c1' }));
  expect(blocks.map(({ kind }) => kind)).toEqual(['user', 'flag', 'user']);
  expect(new Set(blocks.map(({ key }) => key)).size).toBe(3);
});

test('a line that was joined is split into the same words', () => {
  const words = ['uvx', '--with', 'a b', "it's", '', '"x"', 'back\\slash', '$HOME'];
  expect(splitWords(joinWords(words))).toEqual(words);
  expect(joinWords(['uvx', 'some-server@1.2'])).toBe('uvx some-server@1.2');
});

const AGENT: AgentEntry = {
  name: 'reviewer',
  origin: 'project',
  mode: 'primary',
  description: 'Reviews notebooks.',
  model: 'house/big',
  prompt: 'You review.',
  disabledTools: ['grep', 'docs'],
  files: ['.eca/agents/reviewer.md'],
  digest: 'd1',
  heldBack: false
};

test('only an agent with a Markdown file that is not locked can be changed and deleted', () => {
  const draw = (agent: AgentEntry): string =>
    shown(<AgentCard agent={agent} onTry={nothing} onEdit={nothing} onDelete={later} />);
  const plain = { name: 'code', mode: 'primary', description: '', disabledTools: [], heldBack: false } as const;
  expect(draw(AGENT)).toContain('<code dir="auto">.eca/agents/reviewer.md</code>');
  expect(buttons(draw(AGENT))).toEqual(['Try it', 'Edit…', 'Delete']);
  expect(buttons(draw({ ...plain, origin: 'builtIn', files: [] }))).toEqual(['Try it']);
  expect(buttons(draw({ ...plain, origin: 'builtIn', mode: 'subagent', files: [] }))).toEqual([]);
  const locked = draw({ ...AGENT, locked: 'Ask the administrator.' });
  expect(buttons(locked)).toEqual(['Try it']);
  expect(locked).toContain('Ask the administrator.');
  expect(buttons(draw({ ...AGENT, heldBack: true }))).toEqual(['Edit…', 'Delete']);
  const broken = draw({ ...AGENT, error: 'its front matter is not YAML (line 2)' });
  expect(buttons(broken)).toEqual(['Delete']);
  expect(broken).toContain('This file is not used: its front matter is not YAML (line 2).');
});

test('the form of an agent is filled, and sends the file that the user has seen', () => {
  const fields: Readonly<Record<string, string>> = {
    name: 'reviewer',
    mode: 'both',
    description: ' Looks. ',
    model: ' ',
    prompt: 'Look.',
    disabledTools: 'grep,  docs '
  };
  const read = (old?: AgentEntry) => readAgent(name => fields[name] ?? '', old);
  const common = { name: 'reviewer', mode: 'both', description: 'Looks.', prompt: 'Look.' };
  expect(read()).toEqual({ ...common, disabledTools: ['grep', 'docs'], scope: 'workspace' });
  const old = { file: '.eca/agents/reviewer.md', digest: 'd1' };
  expect(read(AGENT)).toEqual({ ...common, disabledTools: ['grep', 'docs'], old });
  const form = (entry?: AgentEntry): string =>
    shown(
      <AgentForm
        {...(entry && { old: entry })}
        models={['house/big']}
        tools={['docs__find']}
        onSubmit={() => Promise.resolve('')}
        onCancel={nothing}
      />
    );
  expect(form(AGENT)).toContain('value="grep, docs"');
  expect(form(AGENT)).toContain('You review.</textarea>');
  expect(form(AGENT)).toMatch(/<input[^>]*readonly=""[^>]*value="reviewer"/);
  expect(form(AGENT)).toContain('The change is written to .eca/agents/reviewer.md.');
  expect(buttons(form(AGENT))).toEqual(['Save the agent', 'Cancel']);
  expect(buttons(form())).toEqual(['Add the agent', 'Cancel']);
});

const SKILL: SkillEntry = {
  name: 'tidy',
  origin: 'project',
  description: 'Tidies tables.',
  body: 'Drop what is empty.',
  file: '.eca/skills/tidy/SKILL.md',
  digest: 'd1',
  isOverridden: false
};

test('a skill that is used can be read, and one that is not of the package can be changed and deleted', () => {
  const draw = (skill: SkillEntry): string =>
    shown(<SkillCard skill={skill} readPreview={() => Promise.resolve('')} onEdit={nothing} onDelete={later} />);
  expect(buttons(draw(SKILL))).toEqual(['What the model gets', 'Edit…', 'Delete']);
  expect(draw(SKILL)).toContain('.eca/skills/tidy/SKILL.md');
  const shipped = {
    name: 'plots',
    origin: 'builtIn',
    description: '',
    file: 'plots/SKILL.md',
    isOverridden: false
  } as const;
  expect(buttons(draw(shipped))).toEqual(['What the model gets']);
  expect(draw(shipped)).not.toContain('plots/SKILL.md');
  expect(buttons(draw({ ...SKILL, isOverridden: true }))).toEqual(['Edit…', 'Delete']);
  const broken = draw({ ...SKILL, error: 'its front matter has no `description` (line 1)' });
  expect(buttons(broken)).toEqual(['Delete']);
  expect(broken).toContain('<code>description</code>');
});

test('the form of a skill is filled, and sends the file that the user has seen', () => {
  const fields: Readonly<Record<string, string>> = {
    name: ' tidy ',
    description: ' Tidies. ',
    body: 'Drop.',
    scope: 'global'
  };
  const read = (old?: SkillEntry) => readSkill(name => fields[name] ?? '', old);
  const common = { name: 'tidy', description: 'Tidies.', body: 'Drop.' };
  expect(read()).toEqual({ ...common, scope: 'global' });
  expect(read(SKILL)).toEqual({ ...common, old: { file: SKILL.file, digest: 'd1' } });
  const form = shown(<SkillForm old={SKILL} onSubmit={() => Promise.resolve('')} onCancel={nothing} />);
  expect(form).toContain('Drop what is empty.</textarea>');
  expect(form).toContain('The change is written to .eca/skills/tidy/SKILL.md.');
  expect(buttons(form)).toEqual(['Save the skill', 'Cancel']);
});

test('the file of a setting is a link only where the page can open it', () => {
  const files = ['.eca/config.json', '~/.config/eca/config.json'];
  expect(buttons(shown(<FileLinks files={files} />))).toEqual([]);
  const linked = renderToStaticMarkup(
    <EnvProvider value={{ ...env, ownFiles: { open: nothing, subscribe: () => nothing } }}>
      <FileLinks files={files} />
    </EnvProvider>
  );
  expect([...linked.matchAll(/<button[^>]*><code[^>]*>([^<]*)/g)].map(([, text]) => text)).toEqual(files);
});

test('a new rule is complete when it names a tool, and an argument with its pattern or neither', () => {
  const draft = {
    decision: 'allow',
    tool: ' eca__shell_command ',
    matchers: [{ argument: '', pattern: '' }],
    scope: 'global'
  } as const;
  expect(toRule(draft)).toEqual({ decision: 'allow', rule: 'eca__shell_command', argsMatchers: {}, scope: 'global' });
  const rule = toRule(draft);
  const files = ['a.json', 'b.json'];
  const other = {
    decision: 'allow',
    rule: 'eca__shell_command',
    argsMatchers: {},
    files,
    builtIn: false,
    own: true
  } as const;
  expect(rule && findFileOfRule([other], rule)).toBe('b.json');
  expect(
    rule &&
      findFileOfRule(
        [
          { ...other, own: false },
          { ...other, decision: 'deny' }
        ],
        rule
      )
  ).toBeUndefined();
  expect(toRule({ ...draft, matchers: [{ argument: 'command', pattern: '' }] })).toBeUndefined();
  expect(toRule({ ...draft, matchers: [{ argument: '', pattern: 'git .*' }] })).toBeUndefined();
  expect(toRule({ ...draft, tool: ' ' })).toBeUndefined();
  expect(toRule({ ...draft, matchers: [{ argument: 'command', pattern: 'git .*' }] })?.argsMatchers).toEqual({
    command: ['git .*']
  });
});

test('a new rule says in words what it will do', () => {
  const rule = { rule: 'eca__shell_command', argsMatchers: { command: ['git .*'] } };
  expect(shown(<RuleDescription rule={{ ...rule, decision: 'allow' }} />)).toBe(
    'A call of eca__shell_command in which command matches git .* will run without asking, unless a rule that forbids it or asks comes first.'
  );
  expect(shown(<RuleDescription rule={{ rule: 'docs', decision: 'deny' }} />)).toBe(
    'Every call of docs will be forbidden.'
  );
  const html = shown(
    <RuleEditor
      rules={[]}
      tools={{ docs__find: ['q'] }}
      onTry={() => Promise.resolve({ calls: [] })}
      onSubmit={() => Promise.resolve('')}
      onCancel={nothing}
    />
  );
  expect(html).toContain('<option value="docs__find"></option>');
  expect(html).toMatch(/<button type="submit"[^>]* disabled=""[^>]*>Add the rule/);
});

test('the tools that a rule can name have the names of their arguments', () => {
  const tools = [{ name: 'find', description: '', parameters: { properties: { q: {} } }, disabled: false }];
  expect(listTools([{ type: 'mcp', name: 'docs', status: 'running', tools }])).toEqual({ docs__find: ['q'] });
  expect(listTools([{ type: 'native', name: 'ECA', status: 'running', tools }])).toEqual({ eca__find: ['q'] });
});

test('each default names the file that holds it', () => {
  const listed = {
    file: '~/.config/eca/config.json',
    defaults: [
      { name: 'defaultModel', model: 'house/big', choices: [], file: '~/.config/eca/config.json', own: true },
      { name: 'defaultAgent', choice: 'code', choices: ['code', 'plan'], own: true },
      { name: 'agent.code.variant', choices: ['low', 'high'], own: true },
      { name: 'budget.perDay', dollars: 2.5, choices: [], file: '.eca/config.json', own: false },
      { name: 'budget.perChat', choices: [], own: true }
    ]
  } as const;
  const html = shown(
    <DefaultList defaultsResult={listed} models={['house/small']} onSave={() => Promise.resolve(true)} />
  );
  expect(html).toContain('Changes here are written to ~/.config/eca/config.json');
  expect(html).toContain('<option value="house/big" selected="">');
  expect(html).toContain('<option value="code" selected="">');
  expect(html).toContain('<option value="" selected="">the default of the model</option><option value="low">');
  expect(html).toContain('The assistant sends no telemetry: its makers receive nothing from you.');
  expect(html).toContain('set in .eca/config.json, which comes before your own file');
  expect(html).toContain('not set');
});

test('a default that the administrator has locked cannot be changed, and says why', () => {
  const listed = {
    file: 'config.json',
    defaults: [
      { name: 'completion.model', model: 'house/small', choices: [], own: true, locked: 'Not allowed. Ask IT.' },
      { name: 'budget.perDay', dollars: 1, choices: [], own: true, limited: 'Not more than 2. Ask IT.' }
    ]
  } as const;
  const html = shown(
    <DefaultList defaultsResult={listed} models={['house/small']} onSave={() => Promise.resolve(true)} />
  );
  expect(html.match(/<select[^>]*disabled=""/g)).toHaveLength(1);
  expect(html).toContain('Not allowed. Ask IT.');
  expect(html).toContain('Not more than 2. Ask IT.');
  expect(html).not.toMatch(/<input[^>]*disabled/);
});

test('when one decides about edits is a choice in plain words', () => {
  const listed = {
    file: 'config.json',
    defaults: [{ name: 'review', review: 'after', choices: [], own: true }]
  } as const;
  const html = shown(<DefaultList defaultsResult={listed} models={[]} onSave={() => Promise.resolve(true)} />);
  expect(html).toContain('Edits of cells and files');
  expect([...html.matchAll(/<option value="(\w+)"/g)].map(([, value]) => value)).toEqual(['before', 'after', 'never']);
  expect(html).toContain('<option value="after" selected="">Edit at once, I keep or undo</option>');
  expect(html).not.toContain('telemetry');
});
