import type { TopicDifference } from './port.ts';

/** A sentence for each difference, and only one where several topics differ in the same setting. */
export function differenceSentences(differences: readonly TopicDifference[]): readonly string[] {
  const groups = Map.groupBy(differences, ({ topic, kind, message }) =>
    kind === 'config' ? message.replace(topic, '') : message,
  );
  return [...groups.values()].map(
    ([first, ...others]) =>
      `${first?.message ?? ''}${others.length === 0 ? '' : ` The same holds for ${others.map(({ topic }) => topic).join(', ')}.`}`,
  );
}
