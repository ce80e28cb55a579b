import { z } from 'zod';
import { POLICY_RECHECK_MS } from '../../packages/policy/policies.ts';
import { type DeciderName, runDeciders } from '../../services/deciders/run-deciders.ts';
import { openProcess } from '../framework/open-process.ts';
import { defineVerb, type Verb } from '../framework/verb.ts';
import { about } from '../framework/verb-list.ts';
import { httpOptions, logOptions } from '../options/option-groups.ts';

interface DeciderVerb {
  readonly name: DeciderName | 'decide';
  readonly deciders: readonly DeciderName[];
  /** Each verb has a port of its own, so that all can run on one machine. */
  readonly httpPort: number;
}

const deciderVerb = ({ name, deciders, httpPort }: DeciderVerb): Verb =>
  defineVerb({
    ...about(name),
    options: z.object({ ...httpOptions(httpPort), ...logOptions('kafka') }),
    run: async (options, context) => {
      await using process = await openProcess(name, options, context);
      const policies = process.followPolicies(POLICY_RECHECK_MS);
      await runDeciders(deciders, { process, policies, signal: context.signal });
    },
  });

export const decide = deciderVerb({
  name: 'decide',
  deciders: ['pressure', 'container-gc', 'image-gc'],
  httpPort: 9640,
});
export const pressure = deciderVerb({ name: 'pressure', deciders: ['pressure'], httpPort: 9644 });
export const containerGc = deciderVerb({ name: 'container-gc', deciders: ['container-gc'], httpPort: 9645 });
export const imageGc = deciderVerb({ name: 'image-gc', deciders: ['image-gc'], httpPort: 9646 });
