import { LabIcon } from '@jupyterlab/ui-components';

/** Four squares around a centre; the theme colours what has the class `jp-icon3`. */
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="1 1 22 22">
  <g class="jp-icon3" fill="#616161">
    <path d="M11 2v9H5.5A5.5 5.5 0 0 1 11 5.5z"/>
    <path d="M22 11h-9V5.500A5.500 5.500 0 0 1 18.500 11z"/>
    <path d="M13 22v-9h5.500A5.500 5.500 0 0 1 13 18.500z"/>
    <path d="M2 13h9v5.500A5.500 5.500 0 0 1 5.500 13z"/>
  </g>
</svg>`;

export const millIcon = new LabIcon({ name: 'cellmill:mill', svgstr: SVG });
