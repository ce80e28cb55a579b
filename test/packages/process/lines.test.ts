import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineTooLong, linesOf } from '../../../packages/process/lines.ts';
import { runs } from '../../support/property-runs.ts';
import { allOf, chunks } from '../kube-api/support/fake-connection.ts';

const textsOf = async (lines: AsyncIterable<Buffer>): Promise<string[]> => (await allOf(lines)).map(String);
const read = (mostBytes: number, ...texts: string[]): Promise<string[]> =>
  textsOf(linesOf(chunks(...texts), mostBytes));

test('lines are put together from what comes, however it is cut', async () => {
  expect(await read(100, 'a\nb', 'c\n\nd')).toEqual(['a', 'bc', '']);
});

test.each([[['123456\n']], [['123', '456\n']], [['123', '456']]])(
  '%j has a line that is too long',
  async (texts) => {
    await expect(read(5, ...texts)).rejects.toThrow(LineTooLong);
  },
);

test('the bound is that of one line', async () => {
  expect(await read(5, '12345\n12345\n')).toEqual(['12345', '12345']);
});

test('any text in any pieces gives its lines', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('a', 'ü', '\n', 'x\ny', '€'), { maxLength: 30 }),
      async (pieces) => {
        const whole = Buffer.from(pieces.join(''));
        const cut = Array.from(whole, (byte) => Buffer.from([byte]));
        const lines = await textsOf(
          linesOf(
            (async function* () {
              yield* cut;
            })(),
            1_000,
          ),
        );
        expect(lines).toEqual(pieces.join('').split('\n').slice(0, -1));
      },
    ),
    runs(300),
  );
});
