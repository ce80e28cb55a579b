import { z } from 'zod';
import { KUBELET_KIND } from '../../../schemas/policy/kubelet-configuration.ts';
import { yamlOfPolicy } from '../file/policy-yaml.ts';
import type { YamlDocument } from '../file/yaml-document.ts';
import { policyFromKubelet } from './from-kubelet.ts';
import { readKubeletFile } from './kubelet-file.ts';
import { wrapperAdvice } from './kubelet-wrappers.ts';

const OfKubelet = z.looseObject({ kind: z.literal(KUBELET_KIND) });

/** What to do with such a document, and the lines of the policy that it makes. */
interface PastedAdvice {
  readonly message: string;
  readonly lines?: readonly string[];
}

/**
 * What to do with a document that is written for a kubelet and was given in place of a policy, with the policy that it makes; `null`
 * of any other. `file` is as a person names it.
 */
export function pastedKubeletAdvice(file: string, { value, source }: YamlDocument): PastedAdvice | null {
  const wrapped = wrapperAdvice(value);
  if (wrapped !== null)
    return { message: `this is no policy; ${wrapped}. ${HOW} makes a policy of that file` };
  if (!OfKubelet.safeParse(value).success) return null;
  const reading = readKubeletFile({ file, text: source });
  if (!reading.valid)
    return {
      message: `this is a ${KUBELET_KIND} and no policy. ${HOW} makes a policy of it, and says first what is wrong with it`,
    };
  const policy = policyFromKubelet(reading.configuration, {
    name: 'kubelet',
    mode: 'dry-run',
    profile: 'kubelet',
  });
  return {
    message: `this is a ${KUBELET_KIND} and no policy. As a policy it is as follows; ${HOW} prints it, and what it leaves out:`,
    lines: yamlOfPolicy(policy)
      .trimEnd()
      .split('\n')
      .map((line) => `  ${line}`),
  };
}

const HOW = '"fleetgc policy from-kubelet FILE"';
