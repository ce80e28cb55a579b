import { OBJECT_KINDS, type ObjectKind } from '../../schemas/events/object-kinds.ts';

export const pluralOf = (kind: ObjectKind): string => OBJECT_KINDS[kind].words[1];

/** `1 sandbox`, `2 sandboxes` */
export const countedKind = (count: number, kind: ObjectKind): string =>
  `${count} ${OBJECT_KINDS[kind].words[count === 1 ? 0 : 1]}`;
