import { answerLine } from '../../plan/answer.ts';
import type { RequestDefaults } from '../../plan/request.ts';
import { splitLines } from '../../plan/split-lines.ts';
import { readBytes } from '../../shared/byte-stream.ts';
import { FleetGcError } from '../../shared/errors.ts';
import { MAX_VALUE_BYTES } from '../../shared/parse-record.ts';
import type { VerbContext } from '../../shared/verb.ts';

/**
 * Answers each line of the input with one line, in their order, and reads on only as fast as the answers are taken.
 * Throws `NOT_PLANNED` in the end when not every line got a plan.
 */
export async function answerLines(
  path: string,
  defaults: RequestDefaults,
  { write, signal }: Pick<VerbContext, 'write' | 'signal'>,
): Promise<void> {
  let lines = 0;
  let withoutPlan = 0;
  for await (const some of splitLines(readBytes(path, signal), MAX_VALUE_BYTES)) {
    for (const line of some) {
      lines += 1;
      const { text, isPlanned } = answerLine(line, lines, defaults);
      if (!isPlanned) withoutPlan += 1;
      await write(text);
    }
  }
  if (withoutPlan === 0) return;
  throw new FleetGcError(
    'NOT_PLANNED',
    `${withoutPlan} of ${lines} lines got no plan; the answer to each says why`,
  );
}
