/**
 * Shows Markdown, also while it is streamed. `render/markdown_segments.ts` splits the text into segments, such as
 * paragraphs. Each segment is rendered alone, so that only the last one is rendered again when the text grows.
 *
 * This module knows no parser: the panel and the widget each provide theirs in `Env.markdown`.
 */

import * as React from 'react';

import { splitSegments } from '../../render/markdown_segments';
import { useEnv } from './env';
import { LongText } from './LongText';

/**
 * The most characters of a segment that is rendered. A longer segment is not prose, and a parser would block the page.
 * It is shown as plain text, part by part.
 */
const MAX_SEGMENT_LENGTH = 50_000;

/** The text, which may still grow. It is not trusted: `Env.markdown` makes it safe. */
export const Markdown = React.memo(function Markdown({ text }: { readonly text: string }): React.ReactElement {
  return (
    <div className="eca-Markdown">
      {splitSegments(text).map((segment, index) => (
        <Segment key={index} text={segment} />
      ))}
    </div>
  );
});

/** One segment of the text. */
function Segment({ text }: { readonly text: string }): React.ReactElement {
  return text.length > MAX_SEGMENT_LENGTH ? <LongText text={text} /> : <RenderedSegment text={text} />;
}

/** A segment that `Env.markdown` renders into an element, whenever its text changes. */
const RenderedSegment = React.memo(function RenderedSegment({ text }: { readonly text: string }): React.ReactElement {
  const { markdown } = useEnv();
  const host = React.useRef<HTMLDivElement>(null);
  React.useLayoutEffect(() => {
    if (host.current !== null) {
      void markdown(host.current, text);
    }
  }, [markdown, text]);
  return <div className="eca-Piece jp-RenderedHTMLCommon jp-RenderedMarkdown" dir="auto" ref={host} />;
});
