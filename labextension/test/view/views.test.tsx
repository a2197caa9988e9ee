/** The HTML of the views. Their behaviour is tested in the browser. */

import { nullTranslator } from '@jupyterlab/translation';
import * as React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';

import { Block, ToolBlock } from '../../src/chat/blocks';
import type { Change } from '../../src/chat/types';
import { createElement } from '../../src/view/common/element';
import {
  AgentOption,
  ChatSummary,
  ClientRights,
  TaskDetails,
  ToolCallDetails,
  UsageContent
} from '../../src/wire/protocol';
import { FirstSteps } from '../../src/view/first_run/first_steps';
import { Session } from '../../src/chat/session';
import { createChat, createState } from '../../src/chat/state';
import { describeForScreenReader } from '../../src/view/announcement';
import { draftReasons } from '../../src/view/tools/Approval';
import { makeCallKey } from '../../src/chat/approval_rules';
import { ChatList } from '../../src/view/ChatList';
import { WaitingChats } from '../../src/view/WaitingChats';
import { Changes } from '../../src/view/transcript/Changes';
import { BlockView } from '../../src/view/transcript/BlockView';
import { Chips } from '../../src/view/composer/Chips';
import { Pickers } from '../../src/view/composer/Pickers';
import { Completion } from '../../src/view/composer/Completion';
import { Breakdown } from '../../src/view/ContextMeter';
import { Env, EnvProvider } from '../../src/view/common/env';
import { ChatPeople } from '../../src/view/common/people';
import { Rights } from '../../src/view/common/rights';
import { CarryOutButton, OutlineDecision, Plan } from '../../src/view/tools/Plan';
import { Question } from '../../src/view/transcript/Question';
import { describeCall } from '../../src/view/tools/describe_call';
import { ToolCard } from '../../src/view/tools/ToolCard';
import { ToolDetails } from '../../src/view/tools/ToolDetails';
import { TrustNotice } from '../../src/view/TrustNotice';
import { StatusLine } from '../../src/view/StatusLine';
import { Welcome } from '../../src/view/Welcome';

const trans = nullTranslator.load('');
const nothing = (): void => undefined;
const env: Env = {
  trans,
  markdown: () => Promise.resolve(),
  openPath: nothing,
  showCell: nothing
};

function shown(view: React.ReactElement, around = env): string {
  return renderToStaticMarkup(<EnvProvider value={around}>{view}</EnvProvider>);
}

const user = { onEdit: nothing, onRetry: nothing, onFork: nothing, onRollBack: nothing };

/** The details of a call, as they are when they are unfolded. */
function unfolded(block: ToolBlock): string {
  return shown(<ToolDetails block={block} hasTranscript={false} />);
}

function block(block: Block, last = false, idle = true): string {
  return shown(
    <BlockView
      chatId="c"
      block={block}
      isLast={last}
      isIdle={idle}
      onApprove={nothing}
      onReject={nothing}
      onBackground={nothing}
      {...user}
    />
  );
}

const CALL: ToolBlock = {
  kind: 'tool',
  key: 'b0',
  id: 't',
  name: 'edit_file',
  server: 'ECA',
  origin: 'native',
  status: 'waiting',
  argumentsText: '',
  outputs: []
};

const CHANGE: ToolCallDetails = {
  type: 'fileChange',
  path: 'a.py',
  diff: '--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n',
  linesAdded: 1,
  linesRemoved: 1
};
const TASKS: TaskDetails = {
  type: 'task',
  tasks: [
    { id: '1', subject: 'Set <x> to 2', status: 'done' },
    { id: '2', subject: 'Look at y', status: 'in-progress' }
  ],
  inProgressTaskIds: ['2'],
  summary: { done: 1, inProgress: 1, pending: 0, total: 2 }
};

test('a waiting call shows what it would do, with buttons to decide', () => {
  const html = block({
    ...CALL,
    summary: 'Editing <b>',
    arguments: { path: 'a.py' },
    remembers: ['edit_file in <b>/']
  });
  expect(html).toContain('Editing &lt;b&gt;');
  expect(html).toContain('a.py');
  expect(html.match(/Approve<|Approve for session: edits of files in &lt;b&gt;\/<|Reject…</g)).toHaveLength(3);
  expect(html).toContain('title="Do not ask again in this chat for: edits of files in &lt;b&gt;/"');
});

test('the button that approves new notebooks for the session names them in words', () => {
  const html = block({ ...CALL, arguments: {}, remembers: ['notebook_create in the top folder'] });
  expect(html).toContain('Approve for session: new notebooks in the top folder');
});

test('a call that nothing is remembered of has no button for the session', () => {
  expect(block({ ...CALL, arguments: {} })).not.toContain('for session');
});

test('a call that changes what may run, or that loads something, says so, and no rule can be written for it', () => {
  const cause = { kind: 'protected', path: '.eca/config.json' } as const;
  const rules = { ...env, approvalRules: {} as NonNullable<Env['approvalRules']> };
  const draw = (call: ToolBlock): string =>
    renderToStaticMarkup(
      <EnvProvider value={rules}>
        <ToolCard block={call} chatId="c" onApprove={nothing} onReject={nothing} onBackground={nothing} />
      </EnvProvider>
    );
  const html = draw({ ...CALL, asked: true, cause });
  expect(html).toMatch(/eca-Tool-warning">This changes what may run without asking: .eca\/config.json</);
  expect(html).not.toContain('Always…');
  expect(draw({ ...CALL, asked: true })).toContain('Always…');
  const loads = draw({ ...CALL, asked: true, cause: { kind: 'loads', loads: 'https://example.org/a.png' } });
  expect(loads).toMatch(
    /eca-Tool-warning">As soon as the cell is shown, the page loads: https:\/\/example.org\/a.png</
  );
  expect(loads).not.toContain('Always…');
});

test.each([
  ['trusted', 'In the sandbox'],
  ['inside', 'In the sandbox'],
  ['outside', 'Outside of the sandbox, with all your rights'],
  ['missing', 'Without a sandbox, with all your rights: this machine has none']
] as const)('a command says where it runs: %s', (sandbox, words) => {
  const details = { type: 'shellCommand', commands: [], background: false, line: 'make' } as const;
  expect(block({ ...CALL, status: 'waiting', details: { ...details, sandbox } })).toContain(words);
  expect(block({ ...CALL, status: 'waiting', details })).not.toContain('sandbox');
});

const ADA = { username: 'ada', name: 'Ada' };
const BEN = { username: 'ben', name: '<Ben>' };

/** A block in a chat of Ada, who sees it, and Ben. */
function shared(block: Block): string {
  const people = { viewer: 'ada', names: new Map([ADA, BEN].map(({ username, name }) => [username, name])) };
  return shown(
    <ChatPeople.Provider value={people}>
      <BlockView
        chatId="c"
        block={block}
        isLast
        isIdle
        onApprove={nothing}
        onReject={nothing}
        onBackground={nothing}
        {...user}
      />
    </ChatPeople.Provider>
  );
}

test('a message bears the name of who has sent it only where several people are', () => {
  const message: Block = { kind: 'user', key: 'b0', text: 'Hi', images: [], by: BEN };
  expect(shared(message)).toContain('<div class="eca-User-name" title="ben" dir="auto">&lt;Ben&gt;</div>');
  expect(shared(message)).toContain('aria-label="&lt;Ben&gt;"');
  expect(shared({ ...message, by: ADA })).toContain('dir="auto">You</div>');
  expect(shared({ kind: 'user', key: 'b0', text: 'Hi', images: [] })).not.toContain('eca-User-name');
  expect(block(message)).not.toContain('Ben');
  expect(block(message)).toContain('aria-label="You"');
});

test('a call says who has approved or rejected it only where several people are', () => {
  const done: ToolBlock = { ...CALL, status: 'done', ms: 1200, by: BEN };
  expect(shared(done)).toContain('>Approved by &lt;Ben&gt;</p>');
  expect(shared({ ...done, by: ADA })).toContain('>Approved by you</p>');
  expect(block(done)).not.toContain('pproved by');
  const rejected: ToolBlock = { ...CALL, status: 'rejected', reason: 'user-choice', by: BEN };
  expect(shared(rejected)).toContain('>Rejected by &lt;Ben&gt;</p>');
  expect(shared({ ...rejected, by: ADA })).toContain('>Rejected by you</p>');
  expect(shared({ ...CALL, status: 'done' })).not.toContain('Approved by');
});

test('a call that was approved and then did not run was not rejected by who has approved it', () => {
  for (const reason of ['user-stop', 'earlier-call-failed'] as const) {
    expect(shared({ ...CALL, status: 'rejected', reason, by: BEN })).toContain('>Approved by &lt;Ben&gt;</p>');
  }
});

test('a name hides no character', () => {
  const by = { username: 'mallory', name: 'A\u202eda' };
  expect(shared({ kind: 'user', key: 'b0', text: 'Hi', images: [], by })).toContain('A\\u202eda</div>');
});

test('a hook that has failed says why in its line, and one that has run only that it did', () => {
  const hook = { kind: 'hook', key: 'b0', id: 'h', name: 'guard', output: ' No shell here.\nSee the rules.' } as const;
  const line = (status: number, output: string): string =>
    block({ ...hook, status, output }).replace(/^.*<\/span>(.*)<\/summary>.*$/s, '$1');
  expect(line(2, hook.output)).toBe('Hook guard ended with 2: No shell here.');
  expect(line(2, '')).toBe('Hook guard ended with 2');
  expect(line(0, hook.output)).toBe('Hook guard has run');
});

test('who may only read has no buttons at a message', () => {
  const message: Block = { kind: 'user', key: 'b0', text: 'Hi', images: [], contentId: 'm' };
  const rights: ClientRights = { asks: false, approves: false, reason: '' };
  const view = (
    <BlockView
      chatId="c"
      block={message}
      isLast
      isIdle
      onApprove={nothing}
      onReject={nothing}
      onBackground={nothing}
      {...user}
    />
  );
  expect(shown(view)).toContain('<button');
  expect(shown(<Rights.Provider value={rights}>{view}</Rights.Provider>)).not.toContain('<button');
});

test('who may only read has no buttons at changes and flags, and not at a chat in the list', () => {
  const change: Change = {
    id: 'x',
    chat: 'c',
    turn: 't',
    at: 0,
    type: 'file',
    kind: 'edited',
    path: 'a.py',
    text: { diff: '', linesAdded: 1, linesRemoved: 0 }
  } as never;
  const chat: ChatSummary = { id: 'c', title: 'Old', status: 'idle', createdAt: 0, updatedAt: 0, messageCount: 1 };
  const resolve = (): Promise<void> => Promise.resolve();
  const view = (
    <>
      <Changes changes={[change]} busy={false} startsOpen onKeep={resolve} onUndo={resolve} />
      <ChatList
        chats={[chat]}
        currentChat="d"
        activeNotebook={undefined}
        onSearch={() => Promise.resolve(undefined)}
        onOpen={nothing}
        onRename={nothing}
        onDelete={nothing}
      />
    </>
  );
  const labels = /Keep all|Undo all|Keep: a.py|Undo: a.py|Rename Old|Delete Old/g;
  expect(shown(view).match(labels)).not.toBeNull();
  const reader = shown(<Rights.Provider value={{ asks: false, approves: false, reason: '' }}>{view}</Rights.Provider>);
  expect(reader.match(labels)).toBeNull();
  expect(reader).toContain('a.py');
});

test('a call that waits for a call before it says for which', () => {
  const waitsFor = 'Editing <x>';
  expect(block({ ...CALL, waitsFor })).toContain('needs approval, would run after: Editing &lt;x&gt;');
  const approved = block({ ...CALL, status: 'ready', waitsFor });
  expect(approved).toContain('allowed, waits for: Editing &lt;x&gt;');
  expect(approved).not.toContain('Approve');
  const skipped = block({ ...CALL, status: 'rejected', reason: 'earlier-call-failed', waitsFor });
  expect(skipped).toContain('not run: an earlier call failed or was rejected');
});

test('a call whose cell has changed or is gone says that an approval does nothing, and what helps', () => {
  const draw = (status: ToolBlock['status'], obstacle: 'changed' | 'gone' | undefined): string => {
    const proposedCells = { subscribe: () => nothing, findObstacle: () => obstacle };
    return shown(
      <ToolCard
        block={{ ...CALL, status, details: CHANGE }}
        chatId="c"
        onApprove={nothing}
        onReject={nothing}
        onBackground={nothing}
      />,
      { ...env, proposedCells }
    );
  };
  expect(draw('waiting', 'changed')).toMatch(/A cell of this call has changed.*Ask again/);
  expect(draw('waiting', 'gone')).toMatch(/A cell of this call is gone.*Ask again/);
  expect(draw('waiting', undefined)).not.toContain('Ask again');
  expect(draw('running', 'gone')).not.toContain('Ask again');
});

test('a call whose asking cell was deleted says so', () => {
  const deletedQuestions = { subscribe: () => nothing, current: () => new Set(['c']) };
  const draw = (chatId: string): string =>
    shown(<ToolCard block={CALL} chatId={chatId} onApprove={nothing} onReject={nothing} onBackground={nothing} />, {
      ...env,
      deletedQuestions
    });
  expect(draw('c')).toContain('The cell that has asked was deleted');
  expect(draw('d')).not.toContain('was deleted');
});

test('the list of all commands has headings, and a list for what is typed has none', () => {
  const suggestion = { kind: 'native', detail: 'Take changes back' };
  const draw = (query: string): string =>
    shown(
      <Completion
        id="c"
        list={{
          trigger: { kind: '/', start: 0, query },
          suggestions: [
            { ...suggestion, key: 'undo', label: '/undo', group: 'common' },
            { ...suggestion, key: 'hooks', label: '/hooks', group: 'more' }
          ],
          lacksVariables: false,
          activeIndex: 0
        }}
        onChoose={nothing}
      />
    );
  expect(draw('').match(/Often used|More</g)).toEqual(['Often used', 'More<']);
  expect(draw('u')).not.toContain('Often used');
});

test('the outline of a notebook can be approved or changed', () => {
  const html = shown(<OutlineDecision onApprove={nothing} onChange={nothing} />);
  expect(html.match(/>Approve<|>Change…</g)).toHaveLength(2);
});

test('a finished call is one line with its duration', () => {
  const html = block({ ...CALL, status: 'done', ms: 1200, outputs: [{ type: 'text', text: 'the result' }] });
  expect(html).toContain('1.2 s');
  expect(html).not.toContain('the result');
  expect(html).not.toContain('Approve');
});

test('the whole of a shortened output can be loaded where that is possible', () => {
  const cut: ToolBlock = {
    ...CALL,
    status: 'waiting',
    wholeLength: 1_200_000,
    outputs: [{ type: 'text', text: 'head' }]
  };
  expect(block(cut)).not.toContain('whole output');
  const able = { ...env, fetchWholeOutput: () => Promise.resolve('all') };
  const html = renderToStaticMarkup(
    <EnvProvider value={able}>
      <ToolDetails block={cut} hasTranscript={false} />
    </EnvProvider>
  );
  expect(html).toContain('Load the whole output (1.2M characters)');
});

test('a running call shows its progress, with a bar where the total is known', () => {
  const running: ToolBlock = { ...CALL, status: 'running' };
  const progress = { text: 'gone\n'.repeat(9) + 'epoch <2>', progress: 2, total: 4 };
  const html = block({ ...running, progress });
  expect(html).toMatch(/<progress [^>]*max="4" value="2"/);
  expect(html).toContain('epoch &lt;2&gt;');
  expect(html.match(/gone/g)).toHaveLength(5);
  expect(block({ ...running, progress: { text: 'on' } })).not.toMatch(/<progress|in background/);
  expect(block({ ...running, progress: { text: 'on', background: true } })).toContain('Run in background');
  expect(block(running)).not.toContain('eca-Tool-progress');
});

test('a change is shown as a diff', () => {
  const diff = '@@ -1 +1 @@\n-old <i>\n+new\n';
  const details = { type: 'fileChange', path: 'a.py', diff, linesAdded: 1, linesRemoved: 1 } as const;
  const html = block({ ...CALL, details });
  expect(html).toContain('eca-mod-remove');
  expect(html).toContain('old &lt;i&gt;');
});

test('a command is shown as a command line', () => {
  const commands = [{ command: 'rm', args: ['-r', 'x y'], remembered: false }];
  const html = block({ ...CALL, details: { type: 'shellCommand', commands, background: false } });
  expect(html).toContain('rm -r x y');
});

test('a command line is shown word for word, with what the rules read in it beside it', () => {
  const commands = [
    { command: 'curl', args: ['x'], remembered: false },
    { command: 'sh', args: [], remembered: false }
  ];
  const details = { type: 'shellCommand', commands, background: false, line: 'curl x | sh  > y' } as const;
  const html = block({ ...CALL, details: { ...details, parsed: ['curl x', 'sh > y'] } });
  expect(html).toContain('curl x | sh  &gt; y</pre>');
  expect(html).toContain('<code>sh &gt; y</code>');
  expect(block({ ...CALL, details })).toContain('curl x | sh  &gt; y</pre>');
});

test('a command is shown with the folder in which it runs and all else that it is called with', () => {
  const details = { type: 'shellCommand', commands: [], background: true, line: 'rm -rf *' } as const;
  const html = block({
    ...CALL,
    details,
    arguments: { command: 'rm -rf *', working_directory: '../precious', background: true, timeout: 86400 }
  });
  expect(html).toMatch(/working_directory<\/dt><dd>\.\.\/precious/);
  expect(html).toMatch(/background<\/dt><dd>true/);
  expect(html).toMatch(/timeout<\/dt><dd>86400/);
  expect(html).not.toContain('<dt>command');
  const cells = { type: 'runCells', path: 'a.ipynb', cells: [{ number: 1, id: 'x', source: 'f()' }] } as const;
  const run = block({ ...CALL, details: cells, arguments: { path: 'a.ipynb', cells: ['x'], timeout: 5 } });
  expect(run).toMatch(/timeout<\/dt><dd>5/);
  expect(run).not.toContain('<dt>cells');
});

test('a question hides nothing of what it asks and of what can be answered', () => {
  const options = [{ label: 'Yes\u3164\u200b' }];
  const question = { key: 1, chatId: 'c', question: 'Delete \u202e\u200bnotes?', options, allowFreeform: false };
  const html = shown(<Question question={question} onAnswer={nothing} />);
  expect(html).toContain('Delete \\u202e\\u200bnotes?');
  expect(html).toContain('Yes\\u3164\\u200b');
});

test('nothing of what is approved is hidden by characters that are not drawn', () => {
  const line = 'echo \u001b]0;\nrm x\u0007 \u202ex';
  const details = { type: 'shellCommand', commands: [], background: false, line } as const;
  expect(block({ ...CALL, details })).toContain('echo \\u001b]0;\nrm x\\u0007 \\u202ex</pre>');
  const html = block({ ...CALL, arguments: { code: 'x = "\u001b]"\nevil()\n#\u0007' } });
  expect(html).toContain('x = &quot;\\u001b]&quot;\nevil()\n#\\u0007');
});

test('the name of a tool and the reason that it is asked about hide nothing', () => {
  const html = block({ ...CALL, name: 'read\u202e\u200b', cause: { kind: 'protected', path: '.eca/\u200bx' } });
  expect(html).toContain('read\\u202e\\u200b');
  expect(html).toContain('.eca/\\u200bx');
  expect(html).not.toMatch(/[\u202e\u200b]/);
});

test('the notice of a folder hides nothing of its settings', () => {
  const held = {
    folder: '/w\u202e',
    digest: 'd',
    summary: '1 hook\u200b',
    settings: [{ key: 'hooks.\u202ea', value: '"ls \u200b; rm x"' }]
  };
  const html = shown(<TrustNotice untrusted={{ folders: [held], canTrust: true }} onTrust={() => Promise.resolve()} />);
  expect(html).toContain('hooks.\\u202ea: &quot;ls \\u200b; rm x&quot;');
  expect(html).not.toMatch(/[\u202e\u200b]/);
});

test('a result that a server sends as text and as JSON appears once, with the arguments', () => {
  const details = { type: 'jsonOutputs', jsons: ['{"city": "Basel"}'] } as const;
  const outputs = [{ type: 'text', text: '{"city":"Basel"}', error: false }] as const;
  const html = unfolded({ ...CALL, status: 'waiting', details, outputs, arguments: { where: 'here' } });
  expect(html.match(/Basel/g)).toHaveLength(1);
  expect(html).toContain('here');
});

test('a long line of a diff says that it is cut', () => {
  const diff = `@@ -0,0 +1 @@\n+${'x'.repeat(30_000)}end\n`;
  const html = block({ ...CALL, details: { type: 'fileChange', path: 'a', diff, linesAdded: 1, linesRemoved: 0 } });
  expect(html).toContain('x…<');
  expect(html).toContain('Show the whole lines');
});

test('a call that did not run shows the reason', () => {
  expect(block({ ...CALL, status: 'rejected', reason: 'nobody-to-ask' })).toContain('nobody is there to give it');
});

test('a link that is not a web address is only text', () => {
  expect(block({ kind: 'url', key: 'b0', title: 'x', url: 'javascript:alert(1)' })).not.toContain('href');
  expect(block({ kind: 'url', key: 'b0', title: 'x', url: 'https://example.org' })).toContain('href');
});

test('an image is drawn only if its type cannot run code', () => {
  const image = (mediaType: string): Block => ({
    kind: 'image',
    key: 'b0',
    image: { type: 'image', mediaType, base64: 'AA==' }
  });
  expect(block(image('image/png'))).toContain('<img');
  expect(block(image('text/html'))).not.toContain('<img');
});

test('ten megabytes in one line are shown in part', () => {
  const html = block({ kind: 'text', key: 'b0', text: 'x'.repeat(10_000_000) });
  expect(html.length).toBeLessThan(10_000);
  expect(html).toContain('Show more');
});

test('only the last message can be changed', () => {
  const user: Block = { kind: 'user', key: 'b0', text: 'Hi', images: [] };
  expect(block(user, true)).toContain('Change this message');
  expect(block(user)).not.toContain('Change this message');
});

test('the user can roll back to any message that the server knows, but not while a turn runs', () => {
  const sent: Block = { kind: 'user', key: 'b0', text: 'Hi', images: [] };
  const user: Block = { ...sent, contentId: 'c' };
  for (const action of ['Go back to before this message', 'Continue from here in a new chat']) {
    expect(block(user)).toContain(action);
    expect(block(user, false, false)).not.toContain(action);
    expect(block(sent)).not.toContain(action);
  }
});

test('without a model the panel has three buttons and nothing else to read', () => {
  const local = { id: 'local', configured: false, auth: { status: 'not-running' }, models: [] } as const;
  const bundled = { model: 'local/small', installed: false, size: 126_700_000, commands: ['pip install small'] };
  const view = (installed: boolean) => (
    <Welcome
      needsModel
      hasModelList
      models={installed ? [bundled.model] : []}
      providers={[{ ...local, bundled: { ...bundled, installed } }]}
      chatCount={0}
      steps={
        new FirstSteps(
          new Session({ open: () => Promise.reject(new Error()), createId: () => 'c', callLater: () => nothing })
        )
      }
      errors={[]}
      welcome=""
      onInsertQuestion={nothing}
      onChooseModel={nothing}
    />
  );
  const words = (html: string): string => html.replace(/<[^>]*>/g, '|').replace(/\|+/g, '|');
  const inLab = { ...env, openSettings: nothing };
  expect(words(shown(view(false), inLab))).toBe('|Sign in|Paste a key|Try the small model|download of 127 MB|');
  expect(words(shown(view(true), inLab))).toBe('|Sign in|Paste a key|Try the small model|built in|');
  // Code in a kernel can read what a widget sends, so it has no field for a key.
  expect(shown(view(true))).toContain('<code>/login</code>');
  expect(shown(view(true))).not.toContain('Paste a key');
});

const meter = { onCompact: nothing, estimate: () => Promise.resolve(undefined) };

test('the status line shows the cost and how full the context is', () => {
  const usage = {
    type: 'usage',
    sessionTokens: 5000,
    messageInputTokens: 1200,
    messageOutputTokens: 30,
    sessionCost: '0.0123',
    limit: { context: 20_000, output: 100 }
  } as const;
  const html = shown(
    <StatusLine connection="open" usage={usage} onReconnect={nothing} onReload={nothing} {...meter} />
  );
  expect(html).toContain('0.012 USD');
  expect(html).toContain('25%');
});

test('the cost of one request is never shown as the cost of the chat', () => {
  const usage = { type: 'usage', sessionTokens: 5000, messageInputTokens: 1200, messageOutputTokens: 30 } as const;
  const draw = (costs: Partial<UsageContent>): string =>
    shown(
      <StatusLine
        connection="open"
        usage={{ ...usage, ...costs }}
        onReconnect={nothing}
        onReload={nothing}
        {...meter}
      />
    );
  expect(draw({ sessionCost: '0.0123', lastMessageCost: '0.0010' })).toContain(
    '<span title="This chat: 0.012 USD">0.012 USD</span>'
  );
  for (const html of [draw({ lastMessageCost: '0.0010' }), draw({ messageCost: '0.0010' })]) {
    expect(html).not.toContain('This chat:');
    expect(html).toContain(
      '<span title="Cost of the last request. The cost of this chat is not known.">last: 0.0010 USD</span>'
    );
  }
  expect(draw({})).not.toContain('USD');
});

test('what fills the context is shown in words, tokens and shares of the window', () => {
  const part = { color: 'gold', emoji: '' };
  const breakdown = {
    categories: [
      { ...part, name: 'System prompt', tokens: 2000 },
      { ...part, name: 'Tools', tokens: 3000 },
      { ...part, name: 'Files', tokens: 1000 },
      { ...part, name: 'Messages', tokens: 4000 },
      { ...part, name: 'Of a later server', tokens: 0 }
    ],
    usedTokens: 10_000,
    freeTokens: 10_000,
    contextLimit: 20_000
  };
  const read = (html: string): readonly string[] => html.replace(/<[^>]+>/g, ' ').split(/\s{2,}/);
  expect(read(shown(<Breakdown breakdown={breakdown} />)).filter(Boolean)).toEqual([
    ...['Instructions', '2k', '10%', 'Tools', '3k', '15%', 'Contexts', '1k', '5%', 'History', '4k', '20%'],
    ...['Of a later server', '0', '0%', 'Free', '10k', '50%']
  ]);
  const { categories, usedTokens } = breakdown;
  expect(read(shown(<Breakdown breakdown={{ categories, usedTokens }} />))).toContain('40%');
});

test('a lost connection is shown and can be retried at once', () => {
  const html = shown(<StatusLine connection="lost" usage={null} onReconnect={nothing} onReload={nothing} {...meter} />);
  expect(html).toContain('trying again');
  expect(html).toContain('Try now');
});

test.each([
  ['signed-out', 'You are signed out.'],
  ['stopped', 'The server is not running.']
] as const)('where only a new page helps, it is offered: %s', (connection, words) => {
  const html = shown(
    <StatusLine connection={connection} usage={null} onReconnect={nothing} onReload={nothing} {...meter} />
  );
  expect(html).toContain(words);
  expect(html).toContain('Reload the page');
  expect(html).not.toContain('Try now');
});

test('the place in the notebook is named, and whether it is sent', () => {
  const around = { label: 'a.ipynb · cell 2', detail: 'a.ipynb, cell 2', content: 'its source' };
  const chips = (placeOn: boolean): string =>
    shown(
      <Chips
        place={around}
        sendsPlace={placeOn}
        onSendsPlaceChange={nothing}
        contexts={[{ type: 'file', path: 'src/b.py' }]}
        onRemove={nothing}
      />
    );
  expect(chips(false)).toContain('aria-pressed="false"');
  expect(chips(false)).toContain('Remove b.py');
  expect(chips(true)).toContain('a.ipynb, cell 2 is sent with the message: its source.');
});

test('a screen reader hears what changes, not each word', () => {
  const state = createState('a');
  const chat = createChat('a');
  expect(describeForScreenReader(state, chat, trans)).toBe('');
  expect(describeForScreenReader(state, { ...chat, status: 'running' }, trans)).toContain('working');
  expect(describeForScreenReader(state, { ...chat, status: 'running', blocks: [CALL] }, trans)).toContain(
    'approval is needed'
  );
  expect(describeForScreenReader({ ...state, connection: 'lost' }, chat, trans)).toContain('lost');
});

test('a call explains why it asks, runs or is forbidden', () => {
  const asks = { ...CALL, asked: true };
  expect(unfolded({ ...asks, cause: { kind: 'default' } })).toContain(
    'Asked: no rule matches it, and such calls need approval'
  );
  expect(unfolded({ ...asks, cause: { kind: 'rule', rule: 'eca', agent: 'careful' } })).toContain(
    'Asked: by the rule eca of the agent careful'
  );
  const shown = { ...CALL, name: 'preview_file_change', status: 'done' as const, details: CHANGE };
  expect(block({ ...shown, cause: { kind: 'rule', rule: 'eca' } })).toContain('Allowed by the rule eca');
  expect(block({ ...shown, cause: { kind: 'trust', rule: 'eca' } })).toContain('the rule eca would ask');
  const unasked = block({ ...shown, cause: { kind: 'unasked', agent: 'codex' } });
  expect(unasked).toContain('Not asked: the agent codex ran this by itself');
  expect(unasked).toContain('done, not asked');
  const forbidden = { ...shown, status: 'rejected' as const, reason: 'user-config' as const };
  expect(block({ ...forbidden, cause: { kind: 'default', agent: 'careful' } })).toContain(
    'Forbidden: no rule matches it, and the agent careful forbids such calls'
  );
  expect(block(CALL)).not.toContain('eca-Tool-why');
});

test('the card of a previewed change is open, and that of a list of tasks is not', () => {
  expect(block({ ...CALL, name: 'preview_notebook_change', status: 'done', details: CHANGE })).toContain('x = 2');
  const proposal = block({ ...CALL, status: 'rejected', reason: 'plan-mode', details: CHANGE });
  expect(proposal).toContain('proposed, not run: plan mode');
  expect(proposal).toContain('x = 2');
  expect(block({ ...CALL, status: 'rejected', reason: 'user-choice', details: CHANGE })).not.toContain('x = 2');
  expect(block({ ...CALL, name: 'task', status: 'done', details: TASKS })).not.toContain('Look at y');
});

test('the plan is shown as one list with ticks, and can be carried out', () => {
  const html = shown(<Plan details={TASKS} />);
  expect(html).toContain('Plan: 1 of 2');
  expect(html).toContain('aria-label="Set &lt;x&gt; to 2: done"');
  expect(html).toContain('aria-label="Look at y: in progress"');
  expect(shown(<CarryOutButton onCarryOut={nothing} />)).toContain('Carry out');
});

test('a reason that the user is writing is kept when its card is drawn again', () => {
  draftReasons.set(makeCallKey('c', 't'), { reason: 'It is the <only> copy', focused: false });
  expect(block(CALL)).toContain('value="It is the &lt;only&gt; copy"');
  draftReasons.delete(makeCallKey('c', 't'));
  expect(block(CALL)).not.toContain('<input');
});

test.each([
  ['no suggestion fits', [], false, 'Nothing found.'],
  ['the request failed', null, false, 'The suggestions could not be loaded.'],
  ['the kernel is busy', [], true, 'The kernel is busy: its variables are listed when it is free.']
])('when %s, the list says so', (_, suggestions, lacksVariables, text) => {
  const list = { trigger: { kind: '@' as const, start: 0, query: 'a' }, suggestions, lacksVariables, activeIndex: 0 };
  expect(shown(<Completion id="c" list={list} onChoose={nothing} />)).toContain(text);
});

test('a failure says in one sentence what happened, and offers what helps', () => {
  const failure: Block = {
    kind: 'failure',
    key: 'f',
    text: 'Look into the log.',
    failure: { kind: 'auth', model: 'far/m' }
  };
  const view = (
    <BlockView
      block={failure}
      isLast={false}
      isIdle
      {...user}
      chatId="c"
      onApprove={nothing}
      onReject={nothing}
      onBackground={nothing}
      onAskAgain={nothing}
      onChooseModel={nothing}
    />
  );
  const html = shown(view, { ...env, openSettings: nothing });
  expect(html).toContain('There is no valid key for far.');
  expect([...html.matchAll(/<button[^>]*>([^<]+)/g)].map(([, label]) => label)).toEqual([
    'Sign in or paste a key',
    'Choose another model',
    'Try again',
    'Show details'
  ]);
});

test('where an outside agent answers, a failure offers another agent in place of another model', () => {
  const failure = { kind: 'failure', key: 'f', text: 'gone', failure: { kind: 'other', model: 'acp/fake' } } as const;
  const acts = { onApprove: nothing, onReject: nothing, onBackground: nothing, onChooseAgent: nothing };
  const html = shown(<BlockView block={failure} isLast={false} isIdle {...user} chatId="c" {...acts} />);
  expect(html).toContain('Choose another agent');
  expect(html).not.toContain('Choose another model');
});

test('a chat that waits is named while another one is shown', () => {
  const html = shown(
    <WaitingChats
      waiting={[
        {
          id: 'a',
          status: 'running',
          waiting: true,
          createdAt: 0,
          updatedAt: 0,
          messageCount: 1,
          notebook: 'w/nb.ipynb'
        },
        { id: 'b', status: 'running', waiting: true, createdAt: 0, updatedAt: 0, messageCount: 1 }
      ]}
      ofOthers={[
        {
          id: 'c',
          status: 'running',
          askedBy: { username: 'ada', name: 'Ada' },
          createdAt: 0,
          updatedAt: 0,
          messageCount: 1,
          notebook: 'w/nb.ipynb'
        }
      ]}
      onOpen={nothing}
    />
  );
  expect(html).toContain('A question in nb.ipynb waits for you.');
  expect(html).toContain('Another chat waits for you.');
  expect(html).toContain('Ada asks in nb.ipynb.');
  expect(html.match(/Show it/g)).toHaveLength(3);
});

test('a waiting call shows what runs without a click, and why it asks in the details', () => {
  const line = 'rm -r build';
  const shell = { type: 'shellCommand', line, parsed: [line], commands: [], background: false } as const;
  const html = block({ ...CALL, details: shell, asked: true, cause: { kind: 'default' } });
  expect(html).toContain('aria-expanded="false"');
  expect(html).toContain('>Run a command</span>');
  expect(html).toContain(line);
  expect(html).not.toContain('Asked:');
  expect(html).not.toContain('eca-Tool-origin');
  const cells = [{ number: 7, id: 'c7', source: 'a = 1\nb = 2' }];
  const run = block({ ...CALL, name: 'notebook_run_cells', details: { type: 'runCells', path: 'a.ipynb', cells } });
  expect(run).toContain('>Run cell 7 (2 lines)</span>');
  expect(run).toContain('b = 2');
  const remote = block({ ...CALL, name: 'read', origin: 'mcp', server: 'docs', arguments: { path: 'x' } });
  expect(remote).toContain('>read, on the MCP server docs</span>');
});

test('the line of a call names the kernel that Lab shows', () => {
  const cells = [3, 5].map(number => ({ number, id: `c${String(number)}`, source: 'x' }));
  const call = { ...CALL, details: { type: 'runCells', path: 'a.ipynb', cells } } as const;
  // Another open notebook has a cell with the same id.
  const findKernel = (path: string) => (path === 'a.ipynb' ? 'Python 3' : 'R');
  const notebooks = { findCell: () => ({ path: 'b.ipynb', number: 1 }), findKernel };
  expect(describeCall(call, notebooks, trans)).toBe('Run cells 3, 5 (2 lines) in Python 3');
  const details = { type: 'fileChange', path: 'a.ipynb', diff: '', linesAdded: 1, linesRemoved: 0 } as const;
  const change = { ...CALL, summary: 'Change 1 cell of a.ipynb, add 1, run 2' };
  const withRun = { ...change, details: { ...details, runs: cells } };
  expect(describeCall(withRun, notebooks, trans)).toBe('Change 1 cell of a.ipynb, add 1, run 2 in Python 3');
  expect(describeCall({ ...change, details }, notebooks, trans)).toBe('Change 1 cell of a.ipynb, add 1, run 2');
});

test('who may not approve reads why in place of the buttons, and can reject only where they may ask', () => {
  const decide = { chatId: 'c', onApprove: nothing, onReject: nothing, onBackground: nothing };
  const card = (rights: ClientRights | undefined): string =>
    shown(
      <Rights.Provider value={rights}>
        <ToolCard block={CALL} {...decide} />
      </Rights.Provider>
    );
  expect(card(undefined)).toContain('>Approve');
  const asker = card({ asks: true, approves: false, reason: 'Ada approves here.' });
  expect(asker).toContain('Ada approves here.');
  expect(asker).not.toContain('>Approve');
  expect(asker).toContain('>Reject');
  const reader = card({ asks: false, approves: false, reason: 'You may read.' });
  expect(reader).toContain('You may read.');
  expect(reader).not.toContain('>Reject');
});

test('an option that the agent has not taken yet shows what was chosen, and that it waits', () => {
  const values = [
    { value: 's', name: 'Small' },
    { value: 'l', name: 'Large' }
  ];
  const option: AgentOption = {
    id: 'model',
    name: 'Model',
    description: '',
    category: 'model',
    value: 's',
    values,
    isSwitch: false,
    canChoose: true
  };
  const pickers = (chosenOptions: Readonly<Record<string, string>>): string =>
    shown(
      <Pickers
        frame={React.createRef<HTMLDivElement>()}
        selection={{ model: '', agent: 'fake', variant: '', variants: [] }}
        models={[]}
        agents={['code', 'fake']}
        outsideAgents={['fake']}
        agentOptions={[option]}
        chosenOptions={chosenOptions}
        onChooseOption={nothing}
        onChoose={nothing}
      />
    );
  expect(pickers({})).toContain('title="Model: Small"');
  expect(pickers({ model: 'l' })).toContain('title="Model: Large (the agent has not taken this yet)"');
});

test('the list of models leads to the other models and keys', () => {
  const models = (around: Env): string =>
    shown(
      <Pickers
        frame={React.createRef<HTMLDivElement>()}
        selection={{ model: 'local/small', agent: 'code', variant: '', variants: [] }}
        models={['local/small']}
        agents={['code']}
        outsideAgents={[]}
        agentOptions={[]}
        chosenOptions={{}}
        onChooseOption={nothing}
        onChoose={nothing}
      />,
      around
    );
  const count = (html: string): number => html.split('<option').length - 1;
  expect(count(models({ ...env, openSettings: nothing }))).toBe(2);
  expect(count(models(env))).toBe(1);
});

test('a long block of code that has no end yet is shown as plain text', () => {
  const lines = Array.from({ length: 300 }, (_, n) => `value_${String(n)} = compute(${String(n)})\n`).join('');
  const text = (source: string): string => block({ kind: 'text', key: 't', text: source });
  expect(text(`Look:\n\n\`\`\`python\n${lines}`)).toContain('value_299 = compute(299)');
  expect(text(`Look:\n\n\`\`\`python\n${lines}\`\`\`\n`)).not.toContain('value_299');
});

test('of a very long answer, the newest paragraphs are shown, and a button shows others', () => {
  const paragraphs = (count: number): string =>
    Array.from({ length: count }, (_, n) => `Paragraph ${String(n)}.\n\n`).join('');
  const count = (html: string): number => html.split('eca-Piece').length - 1;
  const short = block({ kind: 'text', key: 't', text: paragraphs(100) });
  expect(count(short)).toBe(100);
  expect(short).not.toContain('Show more');
  const long = block({ kind: 'text', key: 't', text: paragraphs(1000) });
  expect(count(long)).toBe(400);
  expect(long).toContain('Show more (600 earlier paragraphs are hidden)');
});
