import { FleetGcError } from '../../../packages/process/errors.ts';
import { bundleName, type FrozenDecider, findDecider } from '../deciders/deciders.ts';
import frozen from '../deciders/hashes.json' with { type: 'json' };

/** What a simulation decides with. */
export interface SimulationDeciders {
  readonly pressure: FrozenDecider;
  readonly containerGc: FrozenDecider;
  readonly imageGc: FrozenDecider;
}

/** The newest frozen ones: a policy that is tried today would be carried out by them. */
export const newestDeciders = async (): Promise<SimulationDeciders> => ({
  pressure: await newest('pressure'),
  containerGc: await newest('container-gc'),
  imageGc: await newest('image-gc'),
});

async function newest(name: string): Promise<FrozenDecider> {
  const prefix = bundleName(name, '');
  const versions = Object.keys(frozen)
    .filter((file) => file.startsWith(prefix))
    .map((file) => Number(file.slice(prefix.length)));
  const decider = await findDecider(name, String(Math.max(...versions)));
  if (decider !== null) return decider;
  throw new FleetGcError('DECIDER_CHANGED', `this release has no frozen decider ${name}. Install it again`);
}
