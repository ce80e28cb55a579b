import type { ObjectKind } from '../../schemas/events/command.ts';

/** Kinds of objects as people say them. */
const WORDS: Readonly<Record<ObjectKind, readonly [one: string, many: string]>> = {
  container: ['container', 'containers'],
  sandbox: ['sandbox', 'sandboxes'],
  'pod-log-directory': ['pod log directory', 'pod log directories'],
  'log-symlink': ['log symlink', 'log symlinks'],
  image: ['image', 'images'],
};

export const pluralOf = (kind: ObjectKind): string => WORDS[kind][1];

/** `1 sandbox`, `2 sandboxes` */
export const countedKind = (count: number, kind: ObjectKind): string =>
  `${count} ${WORDS[kind][count === 1 ? 0 : 1]}`;
