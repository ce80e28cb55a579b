import { letterContent, type StoredLetter } from '../read-model/letters.ts';
import { originalKey } from '../read-model/project.ts';
import { printable, printableLine } from '../text/printable.ts';
import { timeText } from '../text/time-text.ts';
import { tableLines } from './text.ts';

/** Without the content, which may be large; `fleetgc dead-letters show` has it. */
export function letterSummary({ letter, valueBytes, diedAtMs, redrivenAtMs }: StoredLetter) {
  const { value, headers, key, ...rest } = letter;
  return {
    ...rest,
    key: originalKey(letter),
    valueBytes,
    diedAt: timeText(diedAtMs),
    redrivenAt: redrivenAtMs === null ? null : timeText(redrivenAtMs),
  };
}

/** Nothing where there are none. */
export function letterTable(letters: readonly StoredLetter[], isWide: boolean): readonly string[] {
  if (letters.length === 0) return [];
  const more = isWide ? ['POSITION', 'BYTES', 'PUT BACK'] : [];
  return tableLines(
    ['ID', 'TIME', 'TOPIC', ...more, 'KEY', 'GROUP', 'CAUSE', 'MESSAGE'],
    letters.map((stored) => {
      const { letter, diedAtMs, redrivenAtMs } = stored;
      return [
        letter.id,
        timeText(diedAtMs),
        printableLine(letter.topic),
        ...(isWide ? wideCells(stored) : []),
        printableLine(originalKey(letter) ?? '(none)'),
        printableLine(letter.group),
        letter.cause,
        `${redrivenAtMs === null ? '' : '(put back) '}${printableLine(letter.message)}`,
      ];
    }),
  );
}

const wideCells = ({ letter, valueBytes, redrivenAtMs }: StoredLetter): readonly string[] => [
  `${letter.partition}@${letter.offset}`,
  String(valueBytes),
  redrivenAtMs === null ? '-' : timeText(redrivenAtMs),
];

const NAME_WIDTH = 14;

/** Everything there is to know about one dead letter. */
export function letterLines({ letter, diedAtMs, redrivenAtMs }: StoredLetter): readonly string[] {
  const { id, cause, message, group, topic, partition, offset, timestampMs, suppressedBefore } = letter;
  const field = (name: string, value: string): string => `${name.padEnd(NAME_WIDTH)}${printableLine(value)}`;
  return [
    field('id', id),
    field('cause', `${cause}: ${message}`),
    field('given up', `${timeText(diedAtMs)} by ${group}`),
    field('message', `${topic} partition ${partition} offset ${offset}, ${timeText(timestampMs)}`),
    field('key', originalKey(letter) ?? '(none)'),
    field('put back', redrivenAtMs === null ? 'no' : timeText(redrivenAtMs)),
    ...(suppressedBefore === 0
      ? []
      : [field('only counted', `${suppressedBefore} more of this key before it, which were not kept`)]),
    ...Object.entries(letter.headers).map(([name, value]) => field('header', `${name}: ${value}`)),
    '',
    ...contentLines(letter),
  ];
}

function contentLines(letter: StoredLetter['letter']): readonly string[] {
  const content = letterContent(letter);
  switch (content.kind) {
    case 'omitted':
      return [
        `The content of ${content.bytes} bytes was too large to be kept here; it lies at its position.`,
      ];
    case 'none':
      return ['(no value)'];
    case 'empty':
      return ['(empty value)'];
    case 'bytes':
      return [`${content.bytes} bytes that are not text, in base64:`, content.base64];
    case 'text':
      return printable(content.text).split('\n');
  }
}
