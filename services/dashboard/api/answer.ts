import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { pathText } from '../../../packages/policy/file/yaml-document.ts';
import { counted } from '../../../packages/text/counted.ts';

/** What a request is answered with. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whom it was made for, as `personKey` says; not there for what is the same for all. */
  readonly person?: string;
}

export const jsonAnswer = (status: number, value: unknown): Answer => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  body: Buffer.from(JSON.stringify(value)),
});

/** Why not, in a sentence for people. */
export const refusal = (status: number, problem: string): Answer => jsonAnswer(status, { problem });

/** The same for whoever asks too much: when to come again. */
export const tooMuch = (problem: string, waitMs: number): Answer => {
  const answer = refusal(429, problem);
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(Math.ceil(waitMs / 1_000)) } };
};

/** To be kept, and never shown here, whatever it says. */
export const fileAnswer = ({ name, contentType, text }: GivenFile): Answer => ({
  status: 200,
  headers: {
    'content-type': contentType,
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'no-store',
  },
  body: Buffer.from(text),
});

/** In place of an answer: a file to keep, under a name of ours. */
export class GivenFile {
  readonly name: string;
  readonly contentType: string;
  readonly text: string;

  constructor(name: string, contentType: string, text: string) {
    this.name = name;
    this.contentType = contentType;
    this.text = text;
  }
}

/** In place of an answer: why there is none, in a sentence for people. */
export class Refused {
  readonly status: number;
  readonly problem: string;

  constructor(status: number, problem: string) {
    this.status = status;
    this.problem = problem;
  }
}

/** What was sent, as text; `null` for more than that, which is not read. */
export async function readBody(request: IncomingMessage, mostBytes: number): Promise<string | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > mostBytes) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

type Issue = z.core.$ZodRawIssue;

/** Whoever asks mends these first. */
const MOST_PROBLEMS = 5;

/** What was not as it has to be, in sentences for people: which part, and what is expected in its place. */
export function problemText({ issues }: Pick<z.ZodError, 'issues'>): string {
  const told = issues
    .slice(0, MOST_PROBLEMS)
    .map(({ path, message }) => [pathText(path), message].filter((part) => part !== '').join(' '));
  return [...told, ...(issues.length > told.length ? ['and more'] : [])].join('; ');
}

/**
 * To be given to a schema as its `error`: what follows the name of a part. What a schema says itself stands above it, and has to follow
 * a name as well.
 */
export function inOurWords(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `has to be ${typeText(issue.expected)}`;
    case 'unrecognized_keys':
      return unknownText(issue.keys);
    case 'invalid_value':
      return issue.input === undefined ? 'is missing' : `has to be ${choiceText(issue.values)}`;
    case 'too_small':
      return boundText(issue.origin, 'at least', Number(issue.minimum));
    case 'too_big':
      return boundText(issue.origin, 'at most', Number(issue.maximum));
    case 'invalid_format':
      return issue.format === 'uuid' ? 'has to be a UUID' : 'has another form than it may have';
    default:
      return 'cannot be this';
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const typeText = (expected: string): string => TYPES[expected] ?? 'something else';

const choiceText = (values: readonly unknown[]): string =>
  values.length === 1 ? String(values[0]) : `one of ${values.map(String).join(', ')}`;

function unknownText(keys: readonly string[]): string {
  const told = keys.slice(0, MOST_PROBLEMS).join(', ');
  return `may not have ${told}${keys.length > MOST_PROBLEMS ? ' and more' : ''}, which nobody asks for here`;
}

function boundText(origin: string, bound: 'at least' | 'at most', value: number): string {
  if (origin === 'string') return `has to have ${bound} ${counted(value, 'character')}`;
  return origin === 'array'
    ? `has to have ${bound} ${counted(value, 'entry', 'entries')}`
    : `has to be ${bound} ${value}`;
}
