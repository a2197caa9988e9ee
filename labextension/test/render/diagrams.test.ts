/** Which diagrams say before a click that they may load something. Drawing them is tested in the browser. */

import { expect, test } from 'vitest';

import { mayLoad } from '../../src/render/diagrams';

test.each([
  'graph TD\nA["<img src=x>"]',
  'graph TD\nA@{ img: "x" }',
  'graph TD\nclassDef a fill:url(x)',
  'graph TD\nA["https:example.org/x"]',
  "%%{init: {'themeCSS': '.a { background: image-set(\"https:example.org\" 1x) }'}}%%\ngraph TD",
  "%%{init: {'themeCSS': '.a { background: src(\"x\") }'}}%%\ngraph TD",
  '%%{init: {\'themeCSS\': \'.a { background: cross-fade("x", "y") }\'}}%%\ngraph TD',
  'graph TD\nA["http:#47;#47;example.org"]',
  'graph TD\nA["ﬂ°°47¶ßﬂ°°47¶ßexample.org"]',
  'graph TD\nA["<b style=x>"]',
  'graph TD\nA["</b onclick=x>"]',
  'graph TD\nclick A "javascript:x"'
])('what may load something says so: %s', source => {
  expect(mayLoad(source)).toBe(true);
});

test.each([
  'graph TD\nA[one<br>line]-->B{Is it so?}\nB-- yes -->C(<b>Done</b>)',
  'sequenceDiagram\nA->>B: Hello, B: how are you?',
  'classDiagram\nclass Point {\n+x: int\n+move(dx, dy)\n}',
  'graph TD\nclassDef warm fill:#f96,stroke:#333\nA:::warm',
  'pie title Pets\n"Dogs" : 386'
])('an ordinary diagram does not: %s', source => {
  expect(mayLoad(source)).toBe(false);
});
