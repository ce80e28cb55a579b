import type { GivenFile } from './given-file.ts';

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
