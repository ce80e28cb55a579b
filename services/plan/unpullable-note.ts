import type { Note } from '../../packages/decision/conclusion.ts';
import type { PlannedObject } from '../../schemas/reports/plan.ts';

/** Images that stay because they could not be pulled again: why, and what to set, once for all of them. */
export function unpullableNotes(keep: readonly PlannedObject[]): readonly Note[] {
  const notPulled = keep.filter(({ kind, rule }) => kind === 'image' && rule === 'M12').length;
  const noSource = keep.filter(({ rule, facts }) => rule === 'M11' && facts.unpullable !== undefined).length;
  return [
    ...(notPulled === 0
      ? []
      : [
          {
            rule: 'M12',
            message: `${images(notPulled)} not pulled through CRI as far as containerd tells, as those that ctr or nerdctl fetched or imported: nobody knows whether they can be pulled again. With keep: {unpullable: false} in the policy they may go`,
          },
        ]),
    ...(noSource === 0
      ? []
      : [
          {
            rule: 'M11',
            message: `${images(noSource)} without a place to be pulled from again. With keep: {unpullable: false} in the policy they may go`,
          },
        ]),
  ];
}

const images = (count: number): string =>
  count === 1 ? '1 image that stays is' : `${count} images that stay are`;
