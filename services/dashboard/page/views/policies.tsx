import type { DashboardPolicies } from '../../../../schemas/reports/dashboard-policies.ts';
import { policyAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Shown } from '../parts.tsx';
import { countText } from '../texts.ts';

const EVERY_MS = 15_000;

/** The policies in force. */
export function PoliciesView() {
  const answered = useAnswer<DashboardPolicies>('/api/policies', EVERY_MS);
  return (
    <>
      <h1>Policies</h1>
      <Shown answered={answered}>{({ policies }) => <PolicyTable policies={policies} />}</Shown>
      <p class="quiet">
        Which policy holds for a node, and where each of its values comes from, stands on the page of that
        node.
      </p>
    </>
  );
}

function PolicyTable({ policies }: DashboardPolicies) {
  if (policies.length === 0) return <p>There is no policy: every node keeps everything.</p>;
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">Policy</th>
            <th scope="col">For</th>
            <th scope="col" class="number">
              Version
            </th>
            <th scope="col">Mode</th>
            <th scope="col" class="number">
              Nodes
            </th>
          </tr>
        </thead>
        <tbody>
          {policies.map((policy) => (
            <tr key={`${policy.subject} ${policy.name}`}>
              <td>
                <a href={policyAddress(policy.subject, policy.name)}>{policy.name}</a>
              </td>
              <td>{policy.subject === 'node' ? 'nodes' : 'clusters'}</td>
              <td class="number">{policy.policyVersion}</td>
              <td>{policy.mode}</td>
              <td class="number">
                <Nodes {...policy} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Nodes({ nodes }: Pick<DashboardPolicies['policies'][number], 'nodes'>) {
  if (nodes === null) return null;
  return nodes === 0 ? <span class="bad">holds for no node</span> : <span>{countText(nodes)}</span>;
}
