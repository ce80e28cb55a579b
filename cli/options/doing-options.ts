import { withMeta } from '../../packages/process/options/options.ts';
import type { Doing } from '../../packages/records/doing.ts';
import { WrittenText } from '../../schemas/policy/approval.ts';

/** Who does it, and why, for the audit trail. A file of its own: every verb loads the common options, and few load these. */
export const doingOptions = {
  reason: withMeta(WrittenText.prefault(''), {
    commandLineOnly: true,
    placeholder: 'TEXT',
    description: 'Why, for whoever looks at it later.',
  }),
  by: withMeta(WrittenText.optional(), {
    commandLineOnly: true,
    placeholder: 'NAME',
    description: 'Who does it; USER of the environment when not given. What proves it is the signature.',
  }),
};

export const doing = (
  { by, reason }: { readonly by: string | undefined; readonly reason: string },
  { environment }: { readonly environment: Readonly<Record<string, string | undefined>> },
): Doing => ({ by: by ?? environment.USER ?? '', reason });
