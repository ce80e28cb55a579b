import { sizeText } from '../../../../packages/text/size-text.ts';
import type { DashboardRepository } from '../../../../schemas/reports/dashboard-images.ts';
import { addressWith, objectAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Shown } from '../parts.tsx';
import { countText } from '../texts.ts';

/** The images of one repository. */
export function Repository({ name, query }: { readonly name: string; readonly query: URLSearchParams }) {
  const answered = useAnswer<DashboardRepository>(
    `/api/images/repository?${new URLSearchParams({ name })}`,
    null,
  );
  return (
    <section aria-labelledby="repository">
      <h2 id="repository">Images of {name}</h2>
      <p>
        <a href={addressWith('/images', query, { repository: null })}>Close</a>
      </p>
      <Shown answered={answered}>
        {({ images, matching }) => (
          <div class="table">
            <table>
              <caption>
                {countText(matching)} images on all nodes, those on the most nodes first
                {images.length < matching ? `; the first ${countText(images.length)} of them` : ''}
              </caption>
              <thead>
                <tr>
                  <th scope="col">Image</th>
                  <th scope="col" class="number">
                    Size as listed
                  </th>
                  <th scope="col" class="number">
                    Nodes
                  </th>
                  <th scope="col" class="number">
                    In use on
                  </th>
                  <th scope="col" class="number">
                    Never used on
                  </th>
                </tr>
              </thead>
              <tbody>
                {images.map((image) => (
                  <tr key={image.id}>
                    <th scope="row">
                      <a href={objectAddress('image', image.id)}>{image.name}</a>
                    </th>
                    <td class="number">{sizeText(BigInt(image.sizeBytes))}</td>
                    <td class="number">{countText(image.nodes)}</td>
                    <td class="number">{countText(image.usedOn)}</td>
                    <td class="number">{countText(image.neverUsedOn)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Shown>
    </section>
  );
}
