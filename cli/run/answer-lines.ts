import { answerBatch, MAX_LINE_BYTES, splitLines } from '../../packages/plan/answer.ts';
import { type Asked, defaultsOf } from '../../packages/plan/request.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { readBytes } from '../../packages/process/options/named-file.ts';
import type { VerbContext } from '../framework/verb.ts';

interface Answering extends Pick<VerbContext, 'write' | 'signal'> {
  /** So much of the answers may wait for their reader, in characters, while the next is made. */
  readonly mostWaiting: number;
}

/**
 * Answers each line of the input that is not blank with one line, in their order, and reads on only as fast as the answers are taken.
 * Throws `NOT_PLANNED` in the end when not every line got a plan.
 */
export async function answerLines(path: string, asked: Asked, answering: Answering): Promise<void> {
  const defaults = defaultsOf(asked);
  const out = bounded(answering);
  let first = 1;
  let answers = 0;
  let withoutPlan = 0;
  for await (const lines of splitLines(readBytes(path, answering.signal), MAX_LINE_BYTES)) {
    const answered = answerBatch({ first, lines }, defaults);
    first += lines.length;
    answers += answered.answers;
    withoutPlan += answered.withoutPlan;
    await out.write(answered.text);
  }
  await out.written();
  if (withoutPlan === 0) return;
  throw new FleetGcError(
    'NOT_PLANNED',
    `${withoutPlan} of ${answers} lines got no plan; the answer to each says why`,
  );
}

/** Lets the writer of answers go ahead of their reader, up to a bound. */
function bounded({ write, mostWaiting }: Answering) {
  let waiting = 0;
  let last = Promise.resolve();
  return {
    write: async (text: string): Promise<void> => {
      waiting += text.length;
      last = write(text).then(() => {
        waiting -= text.length;
      });
      if (waiting > mostWaiting) await last;
    },
    written: (): Promise<void> => last,
  };
}
