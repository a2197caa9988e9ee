/**
 * Shows Markdown, also while it is streamed. `render/markdown_segments.ts` splits the text into segments, such as
 * paragraphs. Each segment is rendered alone, so that only the last one is rendered again when the text grows.
 *
 * This module knows no parser: the panel and the widget each provide theirs in `Env.markdown`.
 */

import * as React from 'react';

import { toPlainText } from '../../render/format';
import { splitCodeIntoParts, splitSegments } from '../../render/markdown_segments';
import { createElement } from './element';
import { useEnv } from './env';
import { LongText } from './LongText';

/**
 * The most characters of a segment that is rendered. A longer segment is not prose, and a parser would block the page.
 * It is shown as plain text, part by part.
 */
const MAX_SEGMENT_LENGTH = 50_000;

/**
 * The most segments that are in the page: about 100 KB of an answer. Of a longer one, the reader sees the newest, and a
 * button shows others.
 */
const MAX_SEGMENTS = 400;
/**
 * The most characters of a block of code that is rendered again each time it grows. A longer one is plain until its
 * end.
 */
const MAX_GROWING_LENGTH = 4000;
/** The most parts of a growing block of code that are in the page. */
const MAX_CODE_PARTS = 60;
/**
 * A block of code that has not grown for this time is rendered, although nothing has ended it: the turn was stopped.
 */
const SETTLED_MS = 1000;

/** The text, which may still grow. It is not trusted: `Env.markdown` makes it safe. */
export const Markdown = React.memo(function Markdown({ text }: { readonly text: string }): React.ReactElement {
  const { trans } = useEnv();
  const [segmented, setSegmented] = React.useState(() => splitSegments(text));
  const [shownCount, setShownCount] = React.useState(MAX_SEGMENTS);
  const current = segmented.text === text ? segmented : splitSegments(text, segmented);
  // React allows this while it draws. It keeps the result, from which the next, longer text is split.
  if (current !== segmented) {
    setSegmented(current);
  }
  const { segments, openBlockOffset } = current;
  const hiddenCount = Math.max(0, segments.length - shownCount);
  return (
    <div className="eca-Markdown">
      {hiddenCount > 0 && (
        <button
          type="button"
          className="eca-Link"
          onClick={() => {
            setShownCount(shownCount + MAX_SEGMENTS);
          }}
        >
          {trans.__('Show more (%1 earlier paragraphs are hidden)', hiddenCount)}
        </button>
      )}
      {segments.slice(hiddenCount).map((segment, index) => {
        const segmentIndex = hiddenCount + index;
        const block = segmentIndex === segments.length - 1 ? openBlockOffset : undefined;
        return <Segment key={segmentIndex} text={segment} openBlockOffset={block} />;
      })}
    </div>
  );
});

interface SegmentProps {
  readonly text: string;
  /** The offset of the block of code with which the text ends, while nothing has ended that block. */
  readonly openBlockOffset: number | undefined;
}

/** One segment of the text. */
const Segment = React.memo(function Segment({ text, openBlockOffset }: SegmentProps): React.ReactElement {
  const isGrowing = useIsGrowing(
    openBlockOffset !== undefined && text.length - openBlockOffset > MAX_GROWING_LENGTH,
    text
  );
  if (isGrowing && openBlockOffset !== undefined) {
    return (
      <>
        {openBlockOffset > 0 && <RenderedSegment text={text.slice(0, openBlockOffset)} />}
        <GrowingCode text={text.slice(text.indexOf('\n', openBlockOffset) + 1)} />
      </>
    );
  }
  return text.length > MAX_SEGMENT_LENGTH ? <LongText text={text} /> : <RenderedSegment text={text} />;
});

/** Return whether the text has changed within the last second. `mayGrow`: it may still grow. If not, return false. */
function useIsGrowing(mayGrow: boolean, text: string): boolean {
  const [settledText, setSettledText] = React.useState<string>();
  React.useEffect(() => {
    if (!mayGrow) {
      return undefined;
    }
    const timer = setTimeout(() => {
      setSettledText(text);
    }, SETTLED_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [mayGrow, text]);
  return mayGrow && settledText !== text;
}

/**
 * Draws code that a model is still writing, without colours. The page lays out only the part that has grown: a block of
 * thousands of lines that is rendered as a whole for each new line blocks the page.
 */
function GrowingCode({ text }: { readonly text: string }): React.ReactElement {
  const parts = splitCodeIntoParts(text);
  const first = Math.max(0, parts.length - MAX_CODE_PARTS);
  return (
    <div className="eca-Piece jp-RenderedHTMLCommon jp-RenderedMarkdown">
      <pre tabIndex={0}>
        <code>
          {parts.slice(first).map((part, index) => (
            <CodePart key={first + index} text={part} />
          ))}
        </code>
      </pre>
    </div>
  );
}

/** Some lines of code. */
const CodePart = React.memo(function CodePart({ text }: { readonly text: string }): React.ReactElement {
  return <span className="eca-Code-part">{toPlainText(text)}</span>;
});

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
