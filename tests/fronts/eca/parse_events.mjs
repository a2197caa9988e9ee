// Reads server-sent events from stdin with eventsource-parser; says what it understood as JSON.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.argv[2] + '/'));
const { createParser } = await import(pathToFileURL(require.resolve('eventsource-parser')).href);

const events = [];
const parser = createParser({ onEvent: ({ id, data }) => events.push({ id: id ?? '', data }) });
process.stdin.setEncoding('utf8');
for await (const piece of process.stdin) {
  parser.feed(piece);
}
process.stdout.write(JSON.stringify(events));
