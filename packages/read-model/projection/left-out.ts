import type { DashboardProgress } from '../../../schemas/reports/dashboard.ts';
import type { Held } from './held.ts';
import type { FleetPlaces } from './places.ts';
import type { Projector } from './projector.ts';

interface LeavingOut {
  readonly places: FleetPlaces;
  readonly held: Held;
  readonly projector: Projector;
}

/** How much there is no room for. */
export const leftOutOf = ({ places, held, projector }: LeavingOut): DashboardProgress['leftOut'] => ({
  nodes: places.node.others,
  clusters: places.cluster.others,
  inventories: held.leftOut,
  names: projector.namesLeftOut,
});
