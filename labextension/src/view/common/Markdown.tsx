/**
 * Markdown text, rendered segment by segment, so that text which grows costs only what its last segment costs.
 *
 * Knows no parser: each front brings its own in `env.ts`. The segments are split in `render/markdown_segments.ts`.
 */

import * as React from 'react';

import { splitSegments } from '../../render/markdown_segments';
import { useEnv } from './env';
import { LongText } from './LongText';

/** A longer segment is no prose. It is shown as plain text, part by part: a parser would block the page. */
const LONGEST_PIECE = 50_000;

export const Markdown = React.memo(function Markdown({ text }: { readonly text: string }): React.ReactElement {
  return (
    <div className="eca-Markdown">
      {splitSegments(text).map((piece, index) => (
        <Piece key={index} text={piece} />
      ))}
    </div>
  );
});

function Piece({ text }: { readonly text: string }): React.ReactElement {
  return text.length > LONGEST_PIECE ? <LongText text={text} /> : <Rendered text={text} />;
}

const Rendered = React.memo(function Rendered({ text }: { readonly text: string }): React.ReactElement {
  const { markdown } = useEnv();
  const host = React.useRef<HTMLDivElement>(null);
  React.useLayoutEffect(() => {
    if (host.current !== null) {
      void markdown(host.current, text);
    }
  }, [markdown, text]);
  return <div className="eca-Piece jp-RenderedHTMLCommon jp-RenderedMarkdown" dir="auto" ref={host} />;
});
