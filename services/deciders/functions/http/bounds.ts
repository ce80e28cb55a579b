import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';

/** What a request may cost. All of it is told before it is parsed. */
export interface FunctionBounds {
  /** Of the body of one event in binary mode. */
  readonly eventBytes: number;
  /** Of any other body: events in base64, with their attributes. */
  readonly bodyBytes: number;
  readonly depth: number;
  readonly elements: number;
}

const MEBIBYTE = 1024 * 1024;
/** Small events come in batches. */
const LEAST_BODY_BYTES = 16 * MEBIBYTE;
/** A batch is a list of events with their data. */
const LEVELS_AROUND_DATA = 2;
const ELEMENTS_AROUND_DATA = 100_000;

/** Those of the topics of which a function takes events. */
export function boundsOf(topics: readonly TopicId[]): FunctionBounds {
  const all = topics.map((id) => TOPICS[id].bounds);
  const eventBytes = Math.max(...all.map(({ bytes }) => bytes));
  return {
    eventBytes,
    bodyBytes: Math.max(LEAST_BODY_BYTES, Math.ceil((eventBytes * 4) / 3) + MEBIBYTE),
    depth: Math.max(...all.map(({ depth }) => depth)) + LEVELS_AROUND_DATA,
    elements: Math.max(...all.map(({ elements }) => elements)) + ELEMENTS_AROUND_DATA,
  };
}
