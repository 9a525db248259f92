// aoi-sync.mjs - aoi-sync.js for `import`.
import api from './aoi-sync.js'

export const { read, Picture } = api
export default api
